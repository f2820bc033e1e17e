/* offload/math_base.h: floating point without a library: the parts of the functions.  Part of offload/math.h.
 *
 * GPUs have no C library, so offload/math.h uses these functions there.  They are templates for float and double, made of sums,
 * products, quotients, square roots and fused multiply-adds that every target rounds as IEEE 754 requires.  Their results are
 * the same on all GPUs and in a compilation for the CPU, with which their errors were measured; offload/math.h lists the
 * errors.  With options like -ffast-math, results may differ.
 *
 * The polynomials interpolate each function at Chebyshev points.  A result that needs more digits than its type has is a sum of
 * two numbers, `pair`.
 */
#ifndef OFFLOAD_MATH_BASE_H
#define OFFLOAD_MATH_BASE_H

/* At the beginning of a function: a product and a sum are rounded separately, whatever options the compiler has. */
#if defined(__clang__)
#define OFFLOAD_ROUND_EACH _Pragma("clang fp contract(off)")
#else
#define OFFLOAD_ROUND_EACH
#endif

#if defined(OFFLOAD_CPU)
#define OFFLOAD_MATH inline
#else
#define OFFLOAD_MATH static __attribute__((device)) inline
#endif

namespace offload_math {

template <typename T_> struct of;
template <> struct of<float> {
  typedef unsigned bits;
  typedef int integer;
  static constexpr int mantissa = 23, bias = 127;
};
template <> struct of<double> {
  typedef unsigned long long bits;
  typedef long long integer;
  static constexpr int mantissa = 52, bias = 1023;
};

template <typename T_> OFFLOAD_MATH typename of<T_>::bits bits(T_ x) { return offload_bits::as<typename of<T_>::bits>(x); }
template <typename T_> OFFLOAD_MATH T_ from_bits(typename of<T_>::bits x) { return offload_bits::as<T_>(x); }
template <typename T_> OFFLOAD_MATH T_ infinity() {
  return from_bits<T_>(typename of<T_>::bits(2 * of<T_>::bias + 1) << of<T_>::mantissa);
}
template <typename T_> OFFLOAD_MATH T_ nan() { return infinity<T_>() - infinity<T_>(); }

OFFLOAD_MATH float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
OFFLOAD_MATH double fma(double a, double b, double c) { return __builtin_fma(a, b, c); }
OFFLOAD_MATH float root(float x) { return __builtin_sqrtf(x); }
OFFLOAD_MATH double root(double x) { return __builtin_sqrt(x); }
OFFLOAD_MATH float size(float x) { return __builtin_fabsf(x); }
OFFLOAD_MATH double size(double x) { return __builtin_fabs(x); }
OFFLOAD_MATH float nearest(float x) { return __builtin_rintf(x); }
OFFLOAD_MATH double nearest(double x) { return __builtin_rint(x); }
OFFLOAD_MATH float signed_as(float x, float sign) { return __builtin_copysignf(x, sign); }
OFFLOAD_MATH double signed_as(double x, double sign) { return __builtin_copysign(x, sign); }

template <typename T_> OFFLOAD_MATH T_ polynomial(T_, T_ last) { return last; }
template <typename T_, typename... Rest> OFFLOAD_MATH T_ polynomial(T_ x, T_ first, Rest... rest) {
  return fma(polynomial(x, rest...), x, first);
}

/* A number with about twice the digits of T: high + low, where `low` is below the last digit of `high`. */
template <typename T_> struct pair {
  T_ high, low;
};

/* a + b, where |a| is not less than |b|. */
template <typename T_> OFFLOAD_MATH pair<T_> quick_sum(T_ a, T_ b) {
  OFFLOAD_ROUND_EACH
  T_ sum = a + b;
  return {sum, b - (sum - a)};
}
template <typename T_> OFFLOAD_MATH pair<T_> sum(T_ a, T_ b) {
  OFFLOAD_ROUND_EACH
  T_ sum = a + b, other = sum - a;
  return {sum, (a - (sum - other)) + (b - other)};
}
template <typename T_> OFFLOAD_MATH pair<T_> product(T_ a, T_ b) {
  OFFLOAD_ROUND_EACH
  T_ high = a * b;
  return {high, fma(a, b, -high)};
}
template <typename T_> OFFLOAD_MATH pair<T_> product(pair<T_> a, pair<T_> b) {
  OFFLOAD_ROUND_EACH
  pair<T_> p = product(a.high, b.high);
  return quick_sum(p.high, fma(a.high, b.low, fma(a.low, b.high, p.low)));
}

/* Constants with the digits of both types. */
template <typename T_> OFFLOAD_MATH pair<T_> constant(float high, float low, double high_double, double low_double) {
  if constexpr (sizeof(T_) == 4)
    return {high, low};
  else
    return {high_double, low_double};
}
template <typename T_> OFFLOAD_MATH pair<T_> half_pi() {
  return constant<T_>(1.57079637f, -4.37113883e-08f, 1.5707963267948966, 6.123233995736766e-17);
}
template <typename T_> OFFLOAD_MATH pair<T_> ln_2() {
  return constant<T_>(0.693147182f, -1.90465421e-09f, 0.6931471805599453, 2.3190468138462996e-17);
}
template <typename T_> OFFLOAD_MATH pair<T_> log2_e() {
  return constant<T_>(1.44269502f, 1.92596303e-08f, 1.4426950408889634, 2.0355273740931033e-17);
}
template <typename T_> OFFLOAD_MATH pair<T_> log10_e() {
  return constant<T_>(0.434294492f, -1.010305e-08f, 0.4342944819032518, 1.098319650216765e-17);
}
template <typename T_> OFFLOAD_MATH pair<T_> ln_10() {
  return constant<T_>(2.30258512f, -3.19754356e-08f, 2.302585092994046, -2.1707562233822494e-16);
}
template <typename T_> OFFLOAD_MATH pair<T_> two_thirds() {
  return constant<T_>(0.666666687f, -1.98682155e-08f, 0.6666666666666666, 3.700743415417188e-17);
}
/* Here, `high` has so few digits that its product with an exponent is exact. */
template <typename T_> OFFLOAD_MATH pair<T_> short_ln_2() {
  return constant<T_>(0.693145751953125f, 1.428606765330187e-06f, 0.69314718055989033, 5.4979230187083712e-14);
}
template <typename T_> OFFLOAD_MATH pair<T_> short_log10_2() {
  return constant<T_>(0.301025390625f, 4.6050390665186569e-06f, 0.30102999566395283, 2.8363394551044964e-14);
}

/* 2^k, if this is a normal number. */
template <typename T_> OFFLOAD_MATH T_ power_of_2(int k) {
  return from_bits<T_>(typename of<T_>::bits(k + of<T_>::bias) << of<T_>::mantissa);
}
/* x * 2^k, rounded once, if x is near 1 and k is at most twice an exponent of T. */
template <typename T_> OFFLOAD_MATH T_ scale(T_ x, int k) {
  OFFLOAD_ROUND_EACH
  return x * power_of_2<T_>(k / 2) * power_of_2<T_>(k - k / 2);
}

/* Splits a positive finite number into mantissa * 2^exponent, with the mantissa between sqrt(1/2) and sqrt(2). */
template <typename T_> OFFLOAD_MATH T_ split(T_ x, int &exponent) {
  OFFLOAD_ROUND_EACH
  constexpr int mantissa = of<T_>::mantissa;
  exponent = 0;
  if (x < power_of_2<T_>(1 - of<T_>::bias)) {
    x *= power_of_2<T_>(mantissa + 1);
    exponent = -mantissa - 1;
  }
  typename of<T_>::bits all = bits(x);
  exponent += int(all >> mantissa) - of<T_>::bias;
  T_ m = from_bits<T_>((all & (~typename of<T_>::bits(0) >> (64 - mantissa + (sizeof(T_) == 4 ? -32 : 0)))) |
                     typename of<T_>::bits(of<T_>::bias) << mantissa);
  if (m > T_(1.4142135)) {
    m *= T_(0.5);
    ++exponent;
  }
  return m;
}

/* ---- exact ---- */

template <typename T_> OFFLOAD_MATH T_ fmod(T_ x, T_ y) {
  OFFLOAD_ROUND_EACH
  constexpr int mantissa = of<T_>::mantissa;
  typedef typename of<T_>::bits word;
  T_ ax = size(x), ay = size(y);
  if (!(ax < infinity<T_>()) || ay == 0 || y != y)
    return nan<T_>();
  if (ax < ay)
    return x;
  /* In whole units of ay's last digit: mx * 2^steps modulo my. */
  word bx = bits(ax), by = bits(ay), one = word(1) << mantissa;
  int ex = int(bx >> mantissa), ey = int(by >> mantissa);
  unsigned long long mx = ex == 0 ? bx : (bx & (one - 1)) | one, my = ey == 0 ? by : (by & (one - 1)) | one;
  int steps = (ex == 0 ? 1 : ex) - (ey == 0 ? 1 : ey);
  mx %= my;
  while (steps > 0) {
    constexpr int most = 63 - mantissa;
    int step = steps < most ? steps : most;
    mx = (mx << step) % my;
    steps -= step;
  }
  T_ unit = from_bits<T_>(ey <= mantissa + 1 ? word(1) : word(ey - mantissa) << mantissa);
  int up = ey <= mantissa + 1 ? (ey == 0 ? 0 : ey - 1) : 0;
  return signed_as(T_(mx) * (up == 0 ? unit : unit * power_of_2<T_>(up)), x);
}
template <typename T_> OFFLOAD_MATH T_ ldexp(T_ x, int k) {
  OFFLOAD_ROUND_EACH
  constexpr int step = of<T_>::bias - 1;
  /* Only the last step may round, also for subnormal results. */
  for (int i = 0; i < 2 && k > step; ++i, k -= step)
    x *= power_of_2<T_>(step);
  for (int i = 0; i < 2 && k < -step; ++i, k += step - of<T_>::mantissa - 1)
    x *= power_of_2<T_>(-step + of<T_>::mantissa + 1);
  k = k > step ? step : k < -step ? -step : k;
  return x * power_of_2<T_>(k);
}
template <typename T_> OFFLOAD_MATH T_ frexp(T_ x, int *exponent) {
  OFFLOAD_ROUND_EACH
  *exponent = 0;
  T_ ax = size(x);
  if (x == 0 || !(ax < infinity<T_>()))
    return x;
  T_ m = split(ax, *exponent);
  if (m < 1)
    return signed_as(m, x);
  ++*exponent;
  return signed_as(m / 2, x);
}

/* x less the nearest whole multiple of y; if two are equally near, the even one. */
template <typename T_> OFFLOAD_MATH T_ remainder(T_ x, T_ y) {
  OFFLOAD_ROUND_EACH
  T_ ay = size(y), rest = size(fmod(x, ay + ay));
  if (!(ay < infinity<T_>()))
    return y != y ? y : fmod(x, y);
  if (rest != rest)
    return rest;
  T_ half = ay / 2;
  /* Half of the smallest number is not exact, but sums of such numbers are. */
  bool is_small = ay < power_of_2<T_>(2 - of<T_>::bias);
  if (is_small ? rest + rest > ay : rest > half) {
    rest -= ay;
    if (is_small ? rest + rest >= ay : rest >= half)
      rest -= ay;
  }
  bool is_negative = bits(x) >> (sizeof(T_) * 8 - 1);
  return is_negative ? -rest : rest;
}
template <typename T_> OFFLOAD_MATH T_ nextafter(T_ x, T_ y) {
  if (x != x || y != y)
    return nan<T_>();
  if (x == y)
    return y;
  if (x == 0)
    return signed_as(from_bits<T_>(1), y);
  typename of<T_>::bits all = bits(x);
  return from_bits<T_>((x < y) == (x > 0) ? all + 1 : all - 1);
}
template <typename T_> OFFLOAD_MATH int ilogb(T_ x) {
  if (x == 0 || x != x)
    return -__INT_MAX__ - 1;
  if (!(size(x) < infinity<T_>()))
    return __INT_MAX__;
  int exponent;
  frexp(x, &exponent);
  return exponent - 1;
}
template <typename T_> OFFLOAD_MATH T_ logb(T_ x) {
  OFFLOAD_ROUND_EACH
  return x == 0 ? -infinity<T_>() : size(x) < infinity<T_>() ? T_(ilogb(x)) : x * x;
}
template <typename T_> OFFLOAD_MATH T_ modf(T_ x, T_ *whole, T_ truncated) {
  OFFLOAD_ROUND_EACH
  *whole = truncated;
  return signed_as(size(x) < infinity<T_>() ? x - truncated : x != x ? x : T_(0), x);
}

} // namespace offload_math

#endif

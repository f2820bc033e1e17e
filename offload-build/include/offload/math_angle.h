/* offload/math_angle.h: angles and arcs.  Part of offload/math.h.
 */
#ifndef OFFLOAD_MATH_ANGLE_H
#define OFFLOAD_MATH_ANGLE_H

#include "math_base.h"

namespace offload_math {

/* ---- angles ---- */

/* (sin(s) - s) / s^3 in s^2, for |s| to pi/4 */
OFFLOAD_MATH float sin_terms(float x) {
  return polynomial(x, -0.166666672f, 0.00833333191f, -0.000198400827f, 2.72493139e-06f);
}
OFFLOAD_MATH double sin_terms(double x) {
  return polynomial(x, -0.16666666666666666, 0.008333333333333331, -0.00019841269841265017, 2.755731921930192e-06,
                    -2.5052106219521895e-08, 1.6058529572267877e-10, -7.586576588171073e-13);
}
/* (cos(s) - 1 + s^2/2) / s^4 in s^2, for |s| to pi/4 */
OFFLOAD_MATH float cos_terms(float x) {
  return polynomial(x, 0.0416666642f, -0.00138883002f, 2.45474366e-05f);
}
OFFLOAD_MATH double cos_terms(double x) {
  return polynomial(x, 0.041666666666666664, -0.0013888888888887382, 2.480158729874307e-05, -2.7557317260008837e-07,
                    2.0876143827993133e-09, -1.1382456778061306e-11);
}

/* An angle in [-pi/4, pi/4] and the quarter turns before it; only their lowest two bits matter. */
template <typename T_> struct angle {
  pair<T_> rest;
  int quarters;
};

/* For large numbers, whose distance to a multiple of pi/2 depends on many digits of 2/pi. */
template <typename T_> OFFLOAD_MATH angle<T_> reduce_large(T_ x) {
  OFFLOAD_ROUND_EACH
  /* 64 zeros, then the binary digits of 2/pi. */
  constexpr unsigned long long digits[] = {
      0,
      0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041, 0xfe5163abdebbc561, 0xb7246e3a424dd2e0,
      0x06492eea09d1921c, 0xfe1deb1cb129a73e, 0xe88235f52ebb4484, 0xe99c7026b45f7e41, 0x3991d639835339f4,
      0x9c845f8bbdf9283b, 0x1ff897ffde05980f, 0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d,
      0x7527bac7ebe5f17b, 0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b6bab, 0xf0cfbc209af4361d};
  constexpr int mantissa = of<T_>::mantissa, width = mantissa + 1;
  typename of<T_>::bits all = bits(size(x));
  int exponent = int(all >> mantissa) - of<T_>::bias - mantissa;
  unsigned long long m = (all & ((typename of<T_>::bits(1) << mantissa) - 1)) | 1ull << mantissa;
  /* x = m * 2^exponent.  Only digits of 2/pi that add less than 4 quarter turns matter: 192 from here on. */
  int first = exponent - 1 + 63, word = first / 64, shift = first % 64;
  unsigned long long window[3];
  for (int i = 0; i < 3; ++i)
    window[i] = shift == 0 ? digits[word + i] : digits[word + i] << shift | digits[word + i + 1] >> (64 - shift);
  unsigned long long low = m * window[2], middle = m * window[1] + __umul64hi(m, window[2]);
  unsigned long long high = m * window[0] + __umul64hi(m, window[1]) + (middle < m * window[1]);
  unsigned quarters = unsigned(high >> 62);
  unsigned long long f0 = high << 2 | middle >> 62, f1 = middle << 2 | low >> 62;
  bool past_half = f0 >> 63;
  if (past_half) {
    /* The next quarter turn is nearer. */
    ++quarters;
    f1 = 0 - f1;
    f0 = ~f0 + (f1 == 0);
  }
  int zeros = f0 == 0 ? 64 : __builtin_clzll(f0);
  if (zeros == 64) {
    f0 = f1;
    f1 = 0;
  } else if (zeros != 0) {
    f0 = f0 << zeros | f1 >> (64 - zeros);
    f1 <<= zeros;
  }
  unsigned long long next = f0 << width | f1 >> (64 - width);
  pair<T_> part = {T_(f0 >> (64 - width)) * power_of_2<T_>(-width - zeros),
                  T_(next >> (64 - width)) * power_of_2<T_>(-width - zeros) * power_of_2<T_>(-width)};
  part = product(part, half_pi<T_>());
  bool negative = past_half != (x < 0);
  if (negative)
    part = {-part.high, -part.low};
  return {part, x < 0 ? -int(quarters) : int(quarters)};
}
template <typename T_> OFFLOAD_MATH angle<T_> reduce(T_ x) {
  OFFLOAD_ROUND_EACH
  if (!(size(x) < T_(sizeof(T_) == 4 ? 1e5 : 1e6))) {
    if (!(size(x) < infinity<T_>()))
      return {{nan<T_>(), nan<T_>()}, 0};
    return reduce_large(x);
  }
  constexpr T_ third = T_(sizeof(T_) == 4 ? -1.71512451e-15 : -1.4973849048591698e-33);
  T_ n = nearest(x * T_(0.63661977236758134));
  T_ r = fma(-n, half_pi<T_>().high, x);
  pair<T_> next = product(n, half_pi<T_>().low);
  pair<T_> rest = sum(r, -next.high);
  return {quick_sum(rest.high, rest.low - next.low - n * third), int(n)};
}

template <typename T_> OFFLOAD_MATH T_ sin_of(pair<T_> r) {
  OFFLOAD_ROUND_EACH
  T_ z = r.high * r.high;
  return r.high + fma(r.high * z, sin_terms(z), r.low);
}
template <typename T_> OFFLOAD_MATH T_ cos_of(pair<T_> r) {
  OFFLOAD_ROUND_EACH
  pair<T_> half = product(r.high, r.high / 2);
  T_ z = 2 * half.high;
  pair<T_> most = quick_sum(T_(1), -half.high);
  return most.high + (most.low - half.low + fma(z * z, cos_terms(z), -r.high * r.low));
}
template <typename T_> OFFLOAD_MATH T_ sin_turned(pair<T_> r, int quarters) {
  T_ value = quarters & 1 ? cos_of(r) : sin_of(r);
  return quarters & 2 ? -value : value;
}
template <typename T_> OFFLOAD_MATH T_ sin(T_ x) {
  angle<T_> a = reduce(x);
  return x == 0 ? x : sin_turned(a.rest, a.quarters);
}
template <typename T_> OFFLOAD_MATH T_ cos(T_ x) {
  angle<T_> a = reduce(x);
  return sin_turned(a.rest, a.quarters + 1);
}
template <typename T_> OFFLOAD_MATH void sincos(T_ x, T_ *sine, T_ *cosine) {
  angle<T_> a = reduce(x);
  *sine = x == 0 ? x : sin_turned(a.rest, a.quarters);
  *cosine = sin_turned(a.rest, a.quarters + 1);
}
template <typename T_> OFFLOAD_MATH T_ tan(T_ x) {
  angle<T_> a = reduce(x);
  T_ s = sin_of(a.rest), c = cos_of(a.rest);
  return x == 0 ? x : a.quarters & 1 ? -c / s : s / c;
}
/* Reduces the angle pi * x. */
template <typename T_> OFFLOAD_MATH angle<T_> reduce_turns(T_ x) {
  OFFLOAD_ROUND_EACH
  if (!(size(x) < infinity<T_>()))
    return {{nan<T_>(), nan<T_>()}, 0};
  /* x = 2 is a whole turn. */
  T_ whole = size(x) < power_of_2<T_>(of<T_>::mantissa + 1) ? x - 2 * nearest(x / 2) : T_(0);
  T_ n = nearest(2 * whole);
  return {product<T_>({2 * whole - n, T_(0)}, half_pi<T_>()), int(n)};
}
template <typename T_> OFFLOAD_MATH T_ sinpi(T_ x) {
  angle<T_> a = reduce_turns(x);
  T_ value = sin_turned(a.rest, a.quarters);
  return x == 0 || value == 0 ? signed_as(T_(0), x) : value;
}
template <typename T_> OFFLOAD_MATH T_ cospi(T_ x) {
  angle<T_> a = reduce_turns(x);
  T_ value = sin_turned(a.rest, a.quarters + 1);
  return value == 0 ? T_(0) : value;
}

/* ---- arcs ---- */

/* (atan(s) - s) / s^3 in s^2, for |s| to sqrt(2) - 1 */
OFFLOAD_MATH float atan_terms(float x) {
  return polynomial(x, -0.333333343f, 0.199999765f, -0.142841458f, 0.110712603f, -0.0862389654f, 0.0504612811f);
}
OFFLOAD_MATH double atan_terms(double x) {
  return polynomial(x, -0.3333333333333333, 0.19999999999999998, -0.14285714285714146, 0.11111111111090245,
                    -0.09090909089276902, 0.07692307615661163, -0.06666664328470077, 0.0588230434681718,
                    -0.052624504139477286, 0.04754591554929332, -0.0429410117528075, 0.0372282586774054,
                    -0.027261979750820998, 0.01194761850731371);
}

/* The arc whose tangent is y/x, both not negative. */
template <typename T_> OFFLOAD_MATH pair<T_> atan_quotient(T_ y, T_ x) {
  OFFLOAD_ROUND_EACH
  T_ large = x < y ? y : x, little = x < y ? x : y;
  if (large == 0)
    return {T_(0), T_(0)};
  if (large == infinity<T_>()) {
    little = little == large ? T_(1) : T_(0);
    large = 1;
  }
  /* The sum must not overflow, and the difference must be exact. */
  if (large > power_of_2<T_>(of<T_>::bias - 1)) {
    large *= T_(0.25);
    little *= T_(0.25);
  }
  bool diagonal = little > large * T_(0.41421356);
  T_ above = little, below = large;
  pair<T_> top = {T_(0), T_(0)}, bottom = {T_(0), T_(0)};
  if (diagonal) {
    /* pi/4 - atan((large - little) / (large + little)) */
    top = sum(large, -little);
    bottom = sum(large, little);
    above = top.high;
    below = bottom.high;
  }
  T_ t = above / below;
  T_ t_low = below < power_of_2<T_>(of<T_>::mantissa + 2 - of<T_>::bias)
                ? T_(0)
                : (fma(-t, below, above) + top.low - t * bottom.low) / below;
  T_ z = t * t;
  pair<T_> arc = quick_sum(t, fma(t * z, atan_terms(z), t_low));
  if (diagonal) {
    pair<T_> quarter = {half_pi<T_>().high / 2, half_pi<T_>().low / 2};
    pair<T_> whole = quick_sum(quarter.high, -arc.high);
    arc = quick_sum(whole.high, whole.low + (quarter.low - arc.low));
  }
  if (x < y) {
    pair<T_> whole = quick_sum(half_pi<T_>().high, -arc.high);
    arc = quick_sum(whole.high, whole.low + (half_pi<T_>().low - arc.low));
  }
  return arc;
}
template <typename T_> OFFLOAD_MATH T_ atan(T_ x) {
  return x != x || x == 0 ? x : signed_as(atan_quotient(size(x), T_(1)).high, x);
}
template <typename T_> OFFLOAD_MATH T_ atan2(T_ y, T_ x) {
  OFFLOAD_ROUND_EACH
  if (x != x || y != y)
    return x + y;
  pair<T_> arc = atan_quotient(size(y), size(x));
  if (bits(x) >> (sizeof(T_) * 8 - 1)) {
    pair<T_> whole = quick_sum(2 * half_pi<T_>().high, -arc.high);
    arc.high = whole.high + (whole.low + (2 * half_pi<T_>().low - arc.low));
  }
  return signed_as(arc.high, y);
}

/* (asin(s) - s) / s^3 in s^2, for |s| to 1/2 */
OFFLOAD_MATH float asin_terms(float x) {
  return polynomial(x, 0.166666657f, 0.0750009567f, 0.0445989892f, 0.0311060008f, 0.0171215869f, 0.0337402821f);
}
OFFLOAD_MATH double asin_terms(double x) {
  return polynomial(x, 0.16666666666666666, 0.07500000000000122, 0.04464285714254326, 0.030381944476347046,
                    0.02237215740373685, 0.01735281769074104, 0.013963758735074137, 0.01156672237119713,
                    0.009619629203687472, 0.009332327156165665, 0.002995311657156326, 0.019678367430162,
                    -0.01942149876336336, 0.029727286869498975);
}

/* asin(s + low) for s up to 1/2. */
template <typename T_> OFFLOAD_MATH pair<T_> asin_small(T_ s, T_ low) {
  OFFLOAD_ROUND_EACH
  T_ z = s * s;
  return quick_sum(s, fma(s * z, asin_terms(z), low));
}
/* asin(sqrt((1 - x) / 2)) for x from 1/2 to 1: half of acos(x). */
template <typename T_> OFFLOAD_MATH pair<T_> half_acos(T_ x) {
  OFFLOAD_ROUND_EACH
  T_ z = (1 - x) / 2, s = root(z);
  return asin_small(s, z > 0 ? fma(-s, s, z) / (2 * s) : T_(0));
}
template <typename T_> OFFLOAD_MATH T_ asin(T_ x) {
  OFFLOAD_ROUND_EACH
  T_ ax = size(x);
  if (x == 0 || x != x)
    return x;
  if (ax < T_(0.5))
    return asin_small(x, T_(0)).high;
  if (ax > 1)
    return nan<T_>();
  pair<T_> arc = half_acos(ax), whole = quick_sum(half_pi<T_>().high, -2 * arc.high);
  return signed_as(whole.high + (whole.low + (half_pi<T_>().low - 2 * arc.low)), x);
}
template <typename T_> OFFLOAD_MATH T_ acos(T_ x) {
  OFFLOAD_ROUND_EACH
  T_ ax = size(x);
  if (!(ax <= 1))
    return x != x ? x : nan<T_>();
  if (ax < T_(0.5)) {
    pair<T_> arc = asin_small(x, T_(0)), whole = quick_sum(half_pi<T_>().high, -arc.high);
    return whole.high + (whole.low + (half_pi<T_>().low - arc.low));
  }
  pair<T_> arc = half_acos(ax);
  if (x > 0)
    return 2 * arc.high;
  pair<T_> whole = quick_sum(half_pi<T_>().high, -arc.high);
  return 2 * (whole.high + (whole.low + (half_pi<T_>().low - arc.low)));
}

} // namespace offload_math

#endif

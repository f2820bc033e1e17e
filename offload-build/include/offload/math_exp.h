/* offload/math_exp.h: exponentials, logarithms, powers, and functions made of these.  Part of offload/math.h.
 */
#ifndef OFFLOAD_MATH_EXP_H
#define OFFLOAD_MATH_EXP_H

#include "math_base.h"

namespace offload_math {

/* ---- exponentials ---- */

/* (e^x - 1 - x) / x^2 for |x| to ln(2)/2 */
OFFLOAD_MATH float exp_terms(float x) {
  return polynomial(x, 0.5f, 0.166666672f, 0.0416664556f, 0.00833331048f, 0.00139345415f, 0.000198919806f);
}
OFFLOAD_MATH double exp_terms(double x) {
  return polynomial(x, 0.5, 0.1666666666666667, 0.04166666666666667, 0.008333333333325544, 0.0013888888888883327,
                    0.00019841269876864356, 2.4801587327007187e-05, 2.755725283351691e-06, 2.75572718102198e-07,
                    2.5106274733573296e-08, 2.0915442297780116e-09);
}

/* e^(high + low) as a number near 1, and the power of 2 to multiply it with. */
template <typename T_> OFFLOAD_MATH T_ exp_parts(T_ high, T_ low, int &k) {
  OFFLOAD_ROUND_EACH
  /* Beyond the limit, the result is infinite or 0; k stays within twice the exponents of T. */
  T_ limit = (2 * of<T_>::bias - 4) * T_(0.69);
  T_ bounded = high < -limit ? -limit : high < limit ? high : limit;
  T_ n = nearest(bounded * log2_e<T_>().high);
  k = int(n);
  T_ r = fma(-n, short_ln_2<T_>().high, bounded);
  low = (bounded == high ? low : T_(0)) - n * short_ln_2<T_>().low;
  pair<T_> reduced = quick_sum(r, low);
  r = reduced.high;
  return 1 + (r + fma(r * r, exp_terms(r), reduced.low));
}
template <typename T_> OFFLOAD_MATH T_ exp(T_ x) {
  int k;
  T_ m = exp_parts(x, T_(0), k);
  return x != x ? x : scale(m, k);
}
/* base^(n + f) for pairs n + f and base = e^c. */
template <typename T_> OFFLOAD_MATH T_ exp2_of(T_ high, T_ low) {
  OFFLOAD_ROUND_EACH
  T_ limit = T_(2 * of<T_>::bias - 4);
  if (!(size(high) < limit)) {
    high = high < 0 ? -limit : limit;
    low = 0;
  }
  T_ n = nearest(high);
  pair<T_> r = product<T_>({high - n, low}, ln_2<T_>());
  return scale(1 + (r.high + fma(r.high * r.high, exp_terms(r.high), r.low)), int(n));
}
template <typename T_> OFFLOAD_MATH T_ exp2(T_ x) { return x != x ? x : exp2_of(x, T_(0)); }
template <typename T_> OFFLOAD_MATH T_ exp10(T_ x) {
  OFFLOAD_ROUND_EACH
  if (x != x)
    return x;
  T_ limit = (2 * of<T_>::bias - 4) * T_(0.3), bounded = x < -limit ? -limit : x < limit ? x : limit;
  T_ n = nearest(bounded * T_(3.3219280948873623));
  T_ r = fma(-n, short_log10_2<T_>().high, bounded);
  pair<T_> t = product<T_>(sum(r, -n * short_log10_2<T_>().low), ln_10<T_>());
  return scale(1 + (t.high + fma(t.high * t.high, exp_terms(t.high), t.low)), int(n));
}
template <typename T_> OFFLOAD_MATH T_ expm1(T_ x) {
  OFFLOAD_ROUND_EACH
  constexpr int mantissa = of<T_>::mantissa;
  if (x != x || x == 0)
    return x;
  if (x > T_((mantissa + 2) * 0.7))
    return exp(x);
  T_ bounded = x < T_(-(mantissa + 3) * 0.7) ? T_(-(mantissa + 3) * 0.7) : x;
  T_ n = nearest(bounded * log2_e<T_>().high);
  T_ r = fma(-n, short_ln_2<T_>().high, bounded);
  pair<T_> reduced = quick_sum(r, -n * short_ln_2<T_>().low);
  T_ rest = fma(reduced.high * reduced.high, exp_terms(reduced.high), reduced.low);
  /* 2^n (1 + r + rest) - 1 */
  T_ power = power_of_2<T_>(int(n));
  pair<T_> whole = sum(power - 1, power * reduced.high);
  return whole.high + fma(power, rest, whole.low);
}

/* ---- logarithms ---- */

/* (2 artanh(s) - 2 s - 2/3 s^3) / s^5 in s^2, for |s| to (sqrt(2) - 1) / (sqrt(2) + 1) */
OFFLOAD_MATH float log_terms(float x) {
  return polynomial(x, 0.400000006f, 0.285715342f, 0.222044066f, 0.191300839f);
}
OFFLOAD_MATH double log_terms(double x) {
  return polynomial(x, 0.4, 0.28571428571429425, 0.2222222222162076, 0.18181818343316125, 0.1538459412012637,
                    0.13334850282547114, 0.11705021567538627, 0.11735818855512968);
}

/* ln(m + low) for m near 1: 2 artanh((m - 1) / (m + 1)). */
template <typename T_> OFFLOAD_MATH pair<T_> log_near_1(T_ m, T_ low) {
  OFFLOAD_ROUND_EACH
  pair<T_> above = quick_sum(m - 1, low), below = sum(m, T_(1));
  below.low += low;
  T_ s = above.high / below.high;
  T_ s_low = (fma(-s, below.high, above.high) - s * below.low + above.low) / below.high;
  pair<T_> square = product(s, s);
  square.low = fma(2 * s, s_low, square.low);
  pair<T_> cube = product(product(square, two_thirds<T_>()), {s, s_low});
  T_ terms = s * square.high * (square.high * log_terms(square.high));
  pair<T_> log = quick_sum(2 * s, cube.high);
  return quick_sum(log.high, fma(T_(2), s_low, log.low + (cube.low + terms)));
}
/* Whether the logarithm of x is infinite or NaN; if so, writes it to `x`. */
template <typename T_> OFFLOAD_MATH bool log_is_special(T_ &x) {
  if (x > 0 && x < infinity<T_>())
    return false;
  x = x == 0 ? -infinity<T_>() : x < 0 ? nan<T_>() : x;
  return true;
}
/* k * unit + log * factor, where `unit` times k is exact. */
template <typename T_> OFFLOAD_MATH pair<T_> log_sum(int k, pair<T_> unit, pair<T_> log) {
  OFFLOAD_ROUND_EACH
  pair<T_> whole = sum(T_(k) * unit.high, log.high);
  return quick_sum(whole.high, fma(T_(k), unit.low, log.low + whole.low));
}
template <typename T_> OFFLOAD_MATH T_ log(T_ x) {
  if (log_is_special(x))
    return x;
  int k;
  T_ m = split(x, k);
  return log_sum(k, short_ln_2<T_>(), log_near_1(m, T_(0))).high;
}
/* log2 of a positive finite number. */
template <typename T_> OFFLOAD_MATH pair<T_> log2_pair(T_ x) {
  int k;
  T_ m = split(x, k);
  return log_sum(k, {T_(1), T_(0)}, product(log_near_1(m, T_(0)), log2_e<T_>()));
}
template <typename T_> OFFLOAD_MATH T_ log2(T_ x) { return log_is_special(x) ? x : log2_pair(x).high; }
template <typename T_> OFFLOAD_MATH T_ log10(T_ x) {
  if (log_is_special(x))
    return x;
  int k;
  T_ m = split(x, k);
  return log_sum(k, short_log10_2<T_>(), product(log_near_1(m, T_(0)), log10_e<T_>())).high;
}
template <typename T_> OFFLOAD_MATH T_ log1p(T_ x) {
  OFFLOAD_ROUND_EACH
  if (size(x) < power_of_2<T_>(-of<T_>::mantissa - 2))
    return x;
  T_ one_more = 1 + x;
  if (log_is_special(one_more))
    return one_more;
  pair<T_> both = sum(T_(1), x);
  int k;
  T_ m = split(both.high, k);
  /* The part that was rounded away is scaled like the rest; if k is large, it is negligible. */
  T_ low = k < of<T_>::mantissa + 2 ? both.low * power_of_2<T_>(-k) : T_(0);
  return log_sum(k, short_ln_2<T_>(), log_near_1(m, low)).high;
}

/* ---- powers and roots ---- */

template <typename T_> OFFLOAD_MATH T_ pow(T_ x, T_ y) {
  OFFLOAD_ROUND_EACH
  if (y == 0 || x == 1)
    return 1;
  if (x != x || y != y)
    return x + y;
  bool whole = nearest(y) == y, odd = whole && nearest(y / 2) != y / 2;
  T_ sign = odd && (bits(x) >> (sizeof(T_) * 8 - 1)) ? T_(-1) : T_(1), ax = size(x);
  if (ax == 0 || ax == infinity<T_>())
    return ((ax == 0) == (y < 0)) ? sign * infinity<T_>() : sign * T_(0);
  if (size(y) == infinity<T_>())
    return ax == 1 ? T_(1) : ((ax > 1) == (y > 0)) ? infinity<T_>() : T_(0);
  if (x < 0 && !whole)
    return nan<T_>();
  pair<T_> log = log2_pair(ax);
  pair<T_> exponent = product(log.high, y);
  return sign * exp2_of(exponent.high, size(exponent.high) < T_(4 * of<T_>::bias) ? fma(log.low, y, exponent.low) : T_(0));
}
template <typename T_> OFFLOAD_MATH T_ cbrt(T_ x) {
  OFFLOAD_ROUND_EACH
  T_ ax = size(x);
  if (x == 0 || !(ax < infinity<T_>()))
    return x;
  int k = 0;
  if (ax < power_of_2<T_>(1 - of<T_>::bias)) {
    k = of<T_>::mantissa / 3 + 1;
    ax *= power_of_2<T_>(3 * k);
  }
  /* First a third of the exponent, then Halley's steps; each step triples the digits. */
  constexpr typename of<T_>::bits third = sizeof(T_) == 4 ? 0x2a5119f2 : 0x2a9f78939b40f945;
  T_ r = from_bits<T_>(bits(ax) / 3 + third);
  for (int step = 0; step < (sizeof(T_) == 4 ? 2 : 3); ++step) {
    T_ ratio = r * r / ax * r;
    r -= r * (ratio - 1) / (2 * ratio + 1);
  }
  pair<T_> square = product(r, r);
  T_ rest = fma(square.high, r, -ax) + square.low * r;
  r -= rest / (3 * square.high);
  return signed_as(r * power_of_2<T_>(-k), x);
}
template <typename T_> OFFLOAD_MATH T_ hypot(T_ x, T_ y) {
  OFFLOAD_ROUND_EACH
  x = size(x);
  y = size(y);
  if (x == infinity<T_>() || y == infinity<T_>())
    return infinity<T_>();
  if (x != x || y != y)
    return x + y;
  T_ large = x < y ? y : x, little = x < y ? x : y;
  if (large == 0)
    return large;
  int k;
  split(large, k);
  T_ up = power_of_2<T_>(-k / 2), up_2 = power_of_2<T_>(-k - -k / 2);
  pair<T_> a = product(large * up * up_2, large * up * up_2), b = product(little * up * up_2, little * up * up_2);
  pair<T_> squares = quick_sum(a.high, b.high);
  squares.low += a.low + b.low;
  T_ r = root(squares.high);
  r += (fma(-r, r, squares.high) + squares.low) / (2 * r);
  return scale(r, k);
}
template <typename T_> OFFLOAD_MATH T_ rsqrt(T_ x) {
  OFFLOAD_ROUND_EACH
  if (!(x > 0 && x < infinity<T_>()))
    return 1 / root(x);
  bool tiny = x < power_of_2<T_>(1 - of<T_>::bias);
  if (tiny)
    x *= power_of_2<T_>(2 * ((of<T_>::mantissa + 2) / 2));
  T_ r = 1 / root(x);
  /* One Newton step; the residual has twice the digits. */
  pair<T_> p = product(x, r);
  r = fma(r * T_(0.5), fma(-p.high, r, T_(1)) - p.low * r, r);
  return tiny ? r * power_of_2<T_>((of<T_>::mantissa + 2) / 2) : r;
}

/* ---- hyperbolic ---- */

/* e^x / 2, which overflows a little later than e^x. */
template <typename T_> OFFLOAD_MATH T_ half_exp(T_ x) {
  int k;
  T_ m = exp_parts(x, T_(0), k);
  return scale(m, k - 1);
}
template <typename T_> OFFLOAD_MATH T_ sinh(T_ x) {
  OFFLOAD_ROUND_EACH
  T_ ax = size(x);
  if (x != x || x == 0)
    return x;
  if (ax > T_(of<T_>::mantissa) / 2)
    return signed_as(half_exp(ax), x);
  T_ e = expm1(ax);
  return signed_as((e + e / (e + 1)) / 2, x);
}
template <typename T_> OFFLOAD_MATH T_ cosh(T_ x) {
  OFFLOAD_ROUND_EACH
  T_ ax = size(x);
  if (x != x)
    return x;
  T_ half = half_exp(ax);
  return ax > T_(of<T_>::mantissa) / 2 ? half : half + T_(0.25) / half;
}
template <typename T_> OFFLOAD_MATH T_ tanh(T_ x) {
  OFFLOAD_ROUND_EACH
  T_ ax = size(x);
  if (x != x || x == 0)
    return x;
  if (ax > T_(of<T_>::mantissa) / 2)
    return signed_as(T_(1), x);
  T_ e = expm1(2 * ax);
  return signed_as(e / (e + 2), x);
}
template <typename T_> OFFLOAD_MATH T_ asinh(T_ x) {
  OFFLOAD_ROUND_EACH
  T_ ax = size(x);
  if (x == 0 || !(ax < infinity<T_>()))
    return x;
  if (ax > power_of_2<T_>(of<T_>::mantissa / 2 + 2))
    return signed_as(log(ax) + ln_2<T_>().high, x);
  T_ square = ax * ax;
  return signed_as(log1p(ax + square / (1 + root(1 + square))), x);
}
template <typename T_> OFFLOAD_MATH T_ acosh(T_ x) {
  OFFLOAD_ROUND_EACH
  if (!(x >= 1))
    return x != x ? x : nan<T_>();
  if (x > power_of_2<T_>(of<T_>::mantissa / 2 + 2))
    return log(x) + ln_2<T_>().high;
  T_ above = x - 1;
  return log1p(above + root(2 * above + above * above));
}
template <typename T_> OFFLOAD_MATH T_ atanh(T_ x) {
  OFFLOAD_ROUND_EACH
  T_ ax = size(x);
  if (!(ax < 1))
    return ax == 1 ? signed_as(infinity<T_>(), x) : x != x ? x : nan<T_>();
  return x == 0 ? x : signed_as(log1p(2 * ax / (1 - ax)) / 2, x);
}

/* ---- the error function ---- */

/* erf(s) / s - 1 in s^2, for |s| to 1 */
OFFLOAD_MATH float erf_terms(float x) {
  return polynomial(x, 0.128379166f, -0.376126379f, 0.112837821f, -0.0268654265f, 0.0052210209f, -0.000848390919f,
                    0.000112646128f, -9.66291191e-06f);
}
OFFLOAD_MATH double erf_terms(double x) {
  return polynomial(x, 0.1283791670955126, -0.37612638903183754, 0.1128379167095512, -0.026866170645129826,
                    0.005223977625423116, -0.0008548327021921774, 0.00012055332902288382, -1.4925647549075886e-05,
                    1.6462045054724144e-06, -1.636463660480217e-07, 1.4792347499413907e-08, -1.2164225654817864e-09,
                    8.707834948949949e-11, -4.229011708989197e-12);
}
/* e^(s^2) erfc(s) (1 + 2 s) in (s - c) / (s + c), for s from 0.49 on; c is 2 for float, 3.75 for double */
OFFLOAD_MATH float erfc_terms(float x) {
  return polynomial(x, 1.27697837f, -0.0927638263f, -0.166030392f, 0.16405125f, -0.0542201065f, -0.00803349726f,
                    0.00872394256f, 0.00126683211f, -0.00146412f, -0.000434899412f, 0.000226565549f, 0.000109619476f,
                    -2.73552305e-05f);
}
OFFLOAD_MATH double erfc_terms(double x) {
  return polynomial(x, 1.2375126308378275, -0.14024059858554702, 0.0035854154854636504, 0.0822767384901503,
                    -0.10880393014170567, 0.09230432116023231, -0.058693398590565306, 0.028362277420791594,
                    -0.00974657954787319, 0.0017556258409648418, 0.000293713601809131, -0.0002901540407487908,
                    5.164934026520454e-05, 2.238419579490575e-05, -1.1444687415072844e-05, -9.737092960065157e-07,
                    1.7522469132026655e-06, -5.655820597909829e-08, -2.5863566545472576e-07, 2.2148271240666758e-08,
                    3.7685961810112735e-08, -2.819394245884741e-09, -4.054765717508833e-09);
}

/* erfc(x) for x from 1/2 on. */
template <typename T_> OFFLOAD_MATH T_ erfc_large(T_ x) {
  OFFLOAD_ROUND_EACH
  /* From here on, the result is less than the smallest number. */
  if (x > T_(sizeof(T_) == 4 ? 10.1 : 27.3))
    return 0;
  constexpr T_ c = T_(sizeof(T_) == 4 ? 2 : 3.75);
  pair<T_> square = product(x, x);
  int k;
  T_ m = exp_parts(-square.high, -square.low, k);
  return scale(m * erfc_terms((x - c) / (x + c)) / (1 + 2 * x), k);
}
template <typename T_> OFFLOAD_MATH T_ erf(T_ x) {
  OFFLOAD_ROUND_EACH
  T_ ax = size(x);
  if (x != x || x == 0)
    return x;
  if (ax < 1)
    return fma(x, erf_terms(x * x), x);
  return signed_as(1 - erfc_large(ax), x);
}
template <typename T_> OFFLOAD_MATH T_ erfc(T_ x) {
  OFFLOAD_ROUND_EACH
  if (x != x)
    return x;
  if (x < T_(0.5))
    return x < -1 ? 2 - erfc_large(-x) : 1 - erf(x);
  return erfc_large(x);
}

} // namespace offload_math

#endif

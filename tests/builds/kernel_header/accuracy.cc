// Prints a line `<function> <float|double> <worst>` for each of the kit's functions for GPUs. `<worst>` is the function's
// worst error, in units in the last place of the result. The reference is the C library with long double, where long
// double is longer than double. A wrong special value counts as an infinite error.

#include <offload/kernel.h>

#include <offload/math_angle.h>
#include <offload/math_exp.h>

#include <cfloat>
#include <cmath>
#include <limits>
#include <random>
#include <type_traits>

static std::mt19937_64 random_bits(1);

template <typename T> T any_number() {
  return offload_math::from_bits<T>(static_cast<typename offload_math::of<T>::bits>(random_bits()));
}

template <typename T> T between(double low, double high) {
  return static_cast<T>(low + (high - low) * (static_cast<double>(random_bits() >> 11) * 0x1p-53));
}

template <typename T> double error(T found, long double exact) {
  typedef std::numeric_limits<T> limits;
  constexpr double wrong = std::numeric_limits<double>::infinity();
  T nearest = static_cast<T>(exact);
  if (std::isnan(nearest))
    return std::isnan(found) ? 0 : wrong;
  if (found == nearest)
    // A zero must also have the right sign.
    return found != 0 || std::signbit(found) == std::signbit(nearest) ? 0 : wrong;
  if (std::isnan(found) || exact == 0 || std::isinf(exact))
    return wrong;
  if (std::isinf(found))
    // Compute the error as if the result were the largest number.
    found = std::copysign(limits::max(), found);
  int exponent;
  std::frexp(exact, &exponent);
  int unit = std::max(std::min(exponent, limits::max_exponent) - limits::digits, limits::min_exponent - limits::digits);
  return static_cast<double>(std::fabs(found - exact) / std::ldexp(1.0L, unit));
}

template <typename T> const T special[] = {
    T(0), T(1), T(0.5), T(0.75), T(1.5), T(2), T(3), T(7), T(88.7), T(103.9), T(710), T(745.1), T(1e-30), T(1e30),
    std::numeric_limits<T>::infinity(), std::numeric_limits<T>::quiet_NaN(), std::numeric_limits<T>::max(),
    std::numeric_limits<T>::min(), std::numeric_limits<T>::denorm_min(), std::numeric_limits<T>::epsilon(),
    1 - std::numeric_limits<T>::epsilon() / 2, 1 + std::numeric_limits<T>::epsilon()};

constexpr int tries = 100000;

template <typename T> void print(const char *name, double worst) {
  std::printf("%s %s %.3f\n", name, std::is_same<T, float>::value ? "float" : "double", worst);
}

template <typename T, typename Ours, typename Exact>
void one(const char *name, Ours ours, Exact exact, double low, double high) {
  double worst = 0;
  auto compare = [&](T x) { worst = std::max(worst, error<T>(ours(x), exact(static_cast<long double>(x)))); };
  for (T x : special<T>) {
    compare(x);
    compare(-x);
  }
  for (int i = 0; i < tries; ++i) {
    compare(any_number<T>());
    compare(between<T>(low, high));
    compare(between<T>(low, high) * T(0.01));
  }
  print<T>(name, worst);
}

// Calls `compare` with all pairs of special numbers and their negatives.
template <typename T, typename Compare> void special_pairs(Compare compare) {
  for (T x : special<T>)
    for (T y : special<T>) {
      compare(x, y);
      compare(-x, y);
      compare(x, -y);
      compare(-x, -y);
    }
}

template <typename T, typename Ours, typename Exact>
void two(const char *name, Ours ours, Exact exact, double low, double high) {
  double worst = 0;
  auto compare = [&](T x, T y) {
    worst = std::max(worst, error<T>(ours(x, y), exact(static_cast<long double>(x), static_cast<long double>(y))));
  };
  special_pairs<T>(compare);
  for (int i = 0; i < tries; ++i) {
    compare(any_number<T>(), any_number<T>());
    compare(any_number<T>(), between<T>(low, high));
    compare(between<T>(low, high), between<T>(low, high));
    compare(between<T>(0, 3), between<T>(low, high));
  }
  print<T>(name, worst);
}

// The C library has no sinpi. For arguments near 0, its sine is accurate enough.
static long double sine_of_turns(long double x) {
  if (!(std::fabs(x) < INFINITY))
    return NAN;
  long double turn = x - 2 * std::rint(x / 2);
  if (turn == 0 || std::fabs(turn) == 1)
    return std::copysign(0.0L, x);
  if (std::fabs(turn) > 0.5L)
    turn = std::copysign(1 - std::fabs(turn), turn);
  return std::sin(turn * 3.14159265358979323846264338327950288L);
}
static long double cosine_of_turns(long double x) {
  if (!(std::fabs(x) < INFINITY))
    return NAN;
  long double turn = std::fabs(x - 2 * std::rint(x / 2));
  return turn == 0.5L ? 0 : sine_of_turns(0.5L - turn);
}

namespace offload_math {
// As on GPUs.
template <typename T> T normcdf(T x) {
  return normcdf(x, [](T s) { return erfc(s); });
}
} // namespace offload_math

#define ONE(name, exact, low, high)                                                                                    \
  one<float>(#name, [](float x) { return offload_math::name(x); }, [](long double x) -> long double { return exact; }, \
             low, high);                                                                                               \
  one<double>(#name, [](double x) { return offload_math::name(x); },                                                   \
              [](long double x) -> long double { return exact; }, low, high)
#define TWO(name, exact, low, high)                                                                                    \
  two<float>(#name, [](float x, float y) { return offload_math::name(x, y); },                                         \
             [](long double x, long double y) -> long double { return exact; }, low, high);                            \
  two<double>(#name, [](double x, double y) { return offload_math::name(x, y); },                                      \
              [](long double x, long double y) -> long double { return exact; }, low, high)

// Tests functions whose results can only be exact or wrong.
template <typename T> void ldexp_and_frexp() {
  double bad_ldexp = 0, bad_frexp = 0;
  auto same = [](T a, T b) { return a == b || (a != a && b != b); };
  for (int i = 0; i < tries; ++i) {
    T x = any_number<T>();
    int k = static_cast<int>(random_bits() % 5000) - 2500, ours, theirs = 0;
    if (i % 2 == 0)
      k /= 10;
    bad_ldexp += !same(offload_math::ldexp(x, k), std::ldexp(x, k));
    bad_frexp += !same(offload_math::frexp(x, &ours), std::frexp(x, &theirs)) || (std::isfinite(x) && ours != theirs);
  }
  print<T>("ldexp", bad_ldexp);
  print<T>("frexp", bad_frexp);
}

template <typename T> void of_bits() {
  double bad_next = 0, bad_ilogb = 0, bad_modf = 0;
  auto same = [](T a, T b) {
    return a != a ? b != b : a == b && std::signbit(a) == std::signbit(b);
  };
  auto compare = [&](T x, T y) {
    T ours, theirs;
    bad_next += !same(offload_math::nextafter(x, y), std::nextafter(x, y));
    bad_ilogb += offload_math::ilogb(x) != std::ilogb(x);
    bad_modf += !same(offload_math::modf(x, &ours, std::trunc(x)), std::modf(x, &theirs)) || !same(ours, theirs);
  };
  special_pairs<T>(compare);
  for (int i = 0; i < tries; ++i) {
    compare(any_number<T>(), any_number<T>());
    compare(between<T>(-100, 100), between<T>(-100, 100));
  }
  print<T>("nextafter", bad_next);
  print<T>("ilogb", bad_ilogb);
  print<T>("modf", bad_modf);
}

int main() {
  ONE(exp, std::exp(x), -750, 711);
  ONE(exp2, std::exp2(x), -1080, 1025);
  ONE(exp10, powl(10, x), -325, 309);
  ONE(expm1, std::expm1(x), -100, 100);
  ONE(log, std::log(x), 0.5, 2);
  ONE(log2, std::log2(x), 0.5, 2);
  ONE(log10, std::log10(x), 0.5, 2);
  ONE(log1p, std::log1p(x), -1, 2);
  ONE(cbrt, std::cbrt(x), -10, 10);
  ONE(rsqrt, 1 / std::sqrt(x), 0, 10);
  ONE(sin, std::sin(x), -1e6, 1e6);
  ONE(cos, std::cos(x), -1e6, 1e6);
  ONE(tan, std::tan(x), -100, 100);
  ONE(sinpi, sine_of_turns(x), -10, 10);
  ONE(cospi, cosine_of_turns(x), -10, 10);
  ONE(asin, std::asin(x), -1, 1);
  ONE(acos, std::acos(x), -1, 1);
  ONE(atan, std::atan(x), -4, 4);
  ONE(sinh, std::sinh(x), -30, 30);
  ONE(cosh, std::cosh(x), -711, 711);
  ONE(tanh, std::tanh(x), -5, 5);
  ONE(asinh, std::asinh(x), -3, 3);
  ONE(acosh, std::acosh(x), 1, 30);
  ONE(atanh, std::atanh(x), -1, 1);
  ONE(erf, std::erf(x), -5, 5);
  ONE(erfc, std::erfc(x), -5, 28);
  ONE(normcdf, std::erfc(x / -std::sqrt(2.0L)) / 2, -38.5, 9);
  TWO(pow, std::pow(x, y), -100, 100);
  TWO(hypot, std::hypot(x, y), -10, 10);
  TWO(atan2, std::atan2(x, y), -10, 10);
  TWO(fmod, std::fmod(x, y), -100, 100);
  TWO(remainder, std::remainder(x, y), -100, 100);
  ONE(logb, std::logb(x), -100, 100);
  of_bits<float>();
  of_bits<double>();
  ldexp_and_frexp<float>();
  ldexp_and_frexp<double>();
}

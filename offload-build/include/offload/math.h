/* offload/math.h: floating-point functions for float (sinf) and double (sin), with overloads for float (sin of a float).  Part
 * of offload/kernel.h.
 *
 * On the CPU, these are the C library's functions.  On GPUs, these functions are exact and use instructions:
 *   sqrt fma fabs copysign fmin fmax floor ceil trunc rint nearbyint round fdim isnan isinf isfinite signbit
 * The others are our own (math_exp.h, math_angle.h):
 *   exp exp2 exp10 expm1 log log2 log10 log1p pow cbrt hypot rsqrt
 *   sin cos sincos tan sinpi cospi asin acos atan atan2 sinh cosh tanh asinh acosh atanh erf erfc
 *   fmod remainder ldexp scalbn frexp logb ilogb modf nextafter, which are exact
 *   rcbrt rhypot norm3d norm4d rnorm3d rnorm4d normcdf, which are made of cbrt, hypot and erfc
 *
 * The largest errors that were found in our functions, in units in the last place of the result:
 *   1     exp exp2 exp10 log log2 log10 log1p pow cbrt hypot rsqrt sin cos sinpi cospi asin acos atan
 *   2.5   expm1 sinh cosh tanh asinh acosh atanh tan atan2 erf
 *   4     erfc
 *   5.5   normcdf
 * They hold for float and double, and for numbers of every size, also subnormal ones.  Infinities, NaN and signed zeros are as
 * in the C library.  The errors were measured on x86-64, where the same source has the same results as on GPUs, against the C
 * library's next longer type.  On AMD's gfx8 and older, clang makes subnormal floats 0.
 *
 * Functions with two underscores (__expf, __exp10f, __logf, __log2f, __log10f, __powf, __sinf, __cosf, __tanf, __sincosf,
 * __fdividef) use the GPU's own approximations, whose errors the vendor documents.  On the CPU, they are the functions without
 * underscores.  __saturatef is exact.
 *
 * The functions in namespace std are the C library's and have no code for GPUs: write sin, not std::sin.
 */
#ifndef OFFLOAD_MATH_H
#define OFFLOAD_MATH_H

/* With -ffast-math, clang warns of every isnan, even of those in this file, which users cannot change. */
#if defined(__clang__)
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wunknown-warning-option"
#pragma clang diagnostic ignored "-Wnan-infinity-disabled"
#endif

namespace offload_math {
/* The result of an overload for only some types of arguments. */
template <bool is_overload, typename T_> struct only {};
template <typename T_> struct only<true, T_> {
  typedef T_ type;
};
} // namespace offload_math
/* Overloads for float only: as in C++, integers are converted to double. */
#define OFFLOAD_FLOAT(name, parameters, arguments)                                                                     \
  template <typename T_>                                                                                               \
  OFFLOAD_DEVICE typename offload_math::only<__is_same(T_, float), float>::type name parameters {                      \
    return name##f arguments;                                                                                          \
  }

#if defined(OFFLOAD_CPU)

#if !defined(__clang__)
/* For a signaling NaN and a number, C libraries return NaN.  CUDA's functions and clang's instructions return the number.  The
 * C++ library calls float's functions by names that g++ does not recognize as these functions; the linker does. */
#define OFFLOAD_EXTREME(attribute, type, name, extreme)                                                                \
  extern "C" __attribute__((attribute)) inline type name(type x, type y) noexcept(noexcept(name(x, y))) {              \
    return offload_bits::extreme(x, y);                                                                                \
  }
OFFLOAD_EXTREME(used, float, fminf, least)
OFFLOAD_EXTREME(used, float, fmaxf, greatest)
OFFLOAD_EXTREME(always_inline, double, fmin, least)
OFFLOAD_EXTREME(always_inline, double, fmax, greatest)
#undef OFFLOAD_EXTREME
#if defined(__ELF__)
/* The C++ library declares them visible, so functions of the program with these names would be used first. */
__asm__(".hidden fminf, fmaxf");
#endif
#endif

/* CUDA functions that some C libraries lack.  If the C library has them, its functions are preferred to these templates. */
OFFLOAD_YIELDS void sincosf(float x, float *sine, float *cosine) {
  *sine = sinf(x);
  *cosine = cosf(x);
}
OFFLOAD_YIELDS void sincos(double x, double *sine, double *cosine) {
  *sine = sin(x);
  *cosine = cos(x);
}
OFFLOAD_YIELDS float exp10f(float x) { return float(pow(10.0, double(x))); }
OFFLOAD_YIELDS double exp10(double x) { return pow(10.0, x); }
OFFLOAD_YIELDS float rsqrtf(float x) { return float(1 / sqrt(double(x))); }
OFFLOAD_YIELDS double rsqrt(double x) { return 1 / sqrt(x); }
OFFLOAD_YIELDS double sinpi(double x) {
  double turn = x - 2 * rint(x / 2), size = fabs(turn);
  /* Multiples of a half are exact, and zeros have the sign of x. */
  if (turn == 0 || size == 1)
    return copysign(0.0, x);
  return sin((size > 0.5 ? copysign(1 - size, turn) : turn) * 3.14159265358979323846);
}
OFFLOAD_YIELDS double cospi(double x) {
  double turn = fabs(x - 2 * rint(x / 2));
  return turn == 0.5 ? 0 : sinpi(0.5 - turn);
}
OFFLOAD_YIELDS float sinpif(float x) { return float(sinpi(double(x))); }
OFFLOAD_YIELDS float cospif(float x) { return float(cospi(double(x))); }
OFFLOAD_FLOAT(exp10, (T_ x), (x))
OFFLOAD_FLOAT(rsqrt, (T_ x), (x))
OFFLOAD_FLOAT(sinpi, (T_ x), (x))
OFFLOAD_FLOAT(cospi, (T_ x), (x))

#else

#include "math_angle.h"
#include "math_base.h"
#include "math_exp.h"

/* As in C++, integers and mixed arguments are converted to double. */
#define OFFLOAD_CONVERTED(...) OFFLOAD_DEVICE typename offload_math::only<(__VA_ARGS__), double>::type
#define OFFLOAD_ONE_CONVERTED(name)                                                                                    \
  template <typename T_> OFFLOAD_CONVERTED(__is_integral(T_)) name(T_ x) { return name(double(x)); }
#define OFFLOAD_TWO_CONVERTED(name)                                                                                    \
  template <typename T_, typename U_>                                                                                  \
  OFFLOAD_CONVERTED(__is_arithmetic(T_) && __is_arithmetic(U_) && !(__is_same(T_, U_) && __is_floating_point(T_)))     \
  name(T_ x, U_ y) {                                                                                                   \
    return name(double(x), double(y));                                                                                 \
  }
#define OFFLOAD_THREE_CONVERTED(name)                                                                                  \
  template <typename T_, typename U_, typename V_>                                                                     \
  OFFLOAD_CONVERTED(__is_arithmetic(T_) && __is_arithmetic(U_) && __is_arithmetic(V_) &&                               \
                    !(__is_same(T_, U_) && __is_same(U_, V_) && __is_floating_point(T_)))                              \
  name(T_ x, U_ y, V_ z) {                                                                                             \
    return name(double(x), double(y), double(z));                                                                      \
  }
#define OFFLOAD_ONE(type) (type x)
#define OFFLOAD_TWO(type) (type x, type y)
#define OFFLOAD_THREE(type) (type x, type y, type z)

/* Functions of the host also call some without <math.h>.  Its declarations are preferred to a template, and are the same
 * functions as those with C linkage: sources pass such functions to their own templates, which accept no template. */
#define OFFLOAD_OF_DEVICE(name, parameters, arguments)
#define OFFLOAD_OF_BOTH(name, parameters, arguments)                                                                   \
  extern "C" __attribute__((host)) float name##f parameters(float) noexcept;                                           \
  OFFLOAD_HOST double name parameters(double) { return __builtin_##name arguments; }

#define OFFLOAD_FUNCTION(name, of_float, of_double, number, arguments, where)                                          \
  OFFLOAD_DEVICE float name##f number(float) { return of_float arguments; }                                            \
  OFFLOAD_DEVICE float name number(float) { return of_float arguments; }                                               \
  OFFLOAD_DEVICE double name number(double) { return of_double arguments; }                                            \
  number##_CONVERTED(name)                                                                                             \
  where(name, number, arguments)
#define OFFLOAD_OURS(name, number, arguments, where)                                                                   \
  OFFLOAD_FUNCTION(name, offload_math::name, offload_math::name, number, arguments, where)
/* Builtins have a different name for float. */
#define OFFLOAD_INSTRUCTION(name, number, arguments, where)                                                            \
  OFFLOAD_FUNCTION(name, __builtin_##name##f, __builtin_##name, number, arguments, where)
OFFLOAD_OURS(exp, OFFLOAD_ONE, (x), OFFLOAD_OF_BOTH)
OFFLOAD_OURS(exp2, OFFLOAD_ONE, (x), OFFLOAD_OF_DEVICE)
OFFLOAD_OURS(exp10, OFFLOAD_ONE, (x), OFFLOAD_OF_DEVICE)
OFFLOAD_OURS(expm1, OFFLOAD_ONE, (x), OFFLOAD_OF_DEVICE)
OFFLOAD_OURS(log, OFFLOAD_ONE, (x), OFFLOAD_OF_BOTH)
OFFLOAD_OURS(log2, OFFLOAD_ONE, (x), OFFLOAD_OF_BOTH)
OFFLOAD_OURS(log10, OFFLOAD_ONE, (x), OFFLOAD_OF_BOTH)
OFFLOAD_OURS(log1p, OFFLOAD_ONE, (x), OFFLOAD_OF_DEVICE)
OFFLOAD_OURS(cbrt, OFFLOAD_ONE, (x), OFFLOAD_OF_BOTH)
OFFLOAD_OURS(rsqrt, OFFLOAD_ONE, (x), OFFLOAD_OF_DEVICE)
OFFLOAD_OURS(sin, OFFLOAD_ONE, (x), OFFLOAD_OF_BOTH)
OFFLOAD_OURS(cos, OFFLOAD_ONE, (x), OFFLOAD_OF_BOTH)
OFFLOAD_OURS(tan, OFFLOAD_ONE, (x), OFFLOAD_OF_BOTH)
OFFLOAD_OURS(sinpi, OFFLOAD_ONE, (x), OFFLOAD_OF_DEVICE)
OFFLOAD_OURS(cospi, OFFLOAD_ONE, (x), OFFLOAD_OF_DEVICE)
OFFLOAD_OURS(asin, OFFLOAD_ONE, (x), OFFLOAD_OF_BOTH)
OFFLOAD_OURS(acos, OFFLOAD_ONE, (x), OFFLOAD_OF_BOTH)
OFFLOAD_OURS(atan, OFFLOAD_ONE, (x), OFFLOAD_OF_BOTH)
OFFLOAD_OURS(sinh, OFFLOAD_ONE, (x), OFFLOAD_OF_BOTH)
OFFLOAD_OURS(cosh, OFFLOAD_ONE, (x), OFFLOAD_OF_BOTH)
OFFLOAD_OURS(tanh, OFFLOAD_ONE, (x), OFFLOAD_OF_BOTH)
OFFLOAD_OURS(asinh, OFFLOAD_ONE, (x), OFFLOAD_OF_DEVICE)
OFFLOAD_OURS(acosh, OFFLOAD_ONE, (x), OFFLOAD_OF_DEVICE)
OFFLOAD_OURS(atanh, OFFLOAD_ONE, (x), OFFLOAD_OF_DEVICE)
OFFLOAD_OURS(erf, OFFLOAD_ONE, (x), OFFLOAD_OF_BOTH)
OFFLOAD_OURS(erfc, OFFLOAD_ONE, (x), OFFLOAD_OF_DEVICE)
OFFLOAD_OURS(pow, OFFLOAD_TWO, (x, y), OFFLOAD_OF_BOTH)
OFFLOAD_OURS(hypot, OFFLOAD_TWO, (x, y), OFFLOAD_OF_DEVICE)
OFFLOAD_OURS(atan2, OFFLOAD_TWO, (x, y), OFFLOAD_OF_BOTH)
OFFLOAD_OURS(fmod, OFFLOAD_TWO, (x, y), OFFLOAD_OF_BOTH)
OFFLOAD_INSTRUCTION(sqrt, OFFLOAD_ONE, (x), OFFLOAD_OF_BOTH)
OFFLOAD_INSTRUCTION(fabs, OFFLOAD_ONE, (x), OFFLOAD_OF_BOTH)
OFFLOAD_INSTRUCTION(floor, OFFLOAD_ONE, (x), OFFLOAD_OF_BOTH)
OFFLOAD_INSTRUCTION(ceil, OFFLOAD_ONE, (x), OFFLOAD_OF_BOTH)
OFFLOAD_INSTRUCTION(trunc, OFFLOAD_ONE, (x), OFFLOAD_OF_BOTH)
OFFLOAD_INSTRUCTION(rint, OFFLOAD_ONE, (x), OFFLOAD_OF_DEVICE)
OFFLOAD_INSTRUCTION(nearbyint, OFFLOAD_ONE, (x), OFFLOAD_OF_DEVICE)
OFFLOAD_INSTRUCTION(round, OFFLOAD_ONE, (x), OFFLOAD_OF_BOTH)
OFFLOAD_INSTRUCTION(fmin, OFFLOAD_TWO, (x, y), OFFLOAD_OF_BOTH)
OFFLOAD_INSTRUCTION(fmax, OFFLOAD_TWO, (x, y), OFFLOAD_OF_BOTH)
OFFLOAD_INSTRUCTION(copysign, OFFLOAD_TWO, (x, y), OFFLOAD_OF_DEVICE)
OFFLOAD_INSTRUCTION(fma, OFFLOAD_THREE, (x, y, z), OFFLOAD_OF_DEVICE)
#undef OFFLOAD_INSTRUCTION
#undef OFFLOAD_OURS
#undef OFFLOAD_FUNCTION
#undef OFFLOAD_OF_BOTH
#undef OFFLOAD_OF_DEVICE
#undef OFFLOAD_CONVERTED
#undef OFFLOAD_ONE_CONVERTED
#undef OFFLOAD_TWO_CONVERTED
#undef OFFLOAD_THREE_CONVERTED
#undef OFFLOAD_ONE
#undef OFFLOAD_TWO
#undef OFFLOAD_THREE

#define OFFLOAD_REST(type, suffix)                                                                                     \
  OFFLOAD_DEVICE void sincos##suffix(type x, type *sine, type *cosine) { offload_math::sincos(x, sine, cosine); }      \
  OFFLOAD_DEVICE type ldexp##suffix(type x, int exponent) { return offload_math::ldexp(x, exponent); }                 \
  OFFLOAD_DEVICE type frexp##suffix(type x, int *exponent) { return offload_math::frexp(x, exponent); }                \
  OFFLOAD_DEVICE type fdim##suffix(type x, type y) { return x <= y ? type(0) : x - y; }                                \
  OFFLOAD_DEVICE type remainder##suffix(type x, type y) { return offload_math::remainder(x, y); }                      \
  OFFLOAD_DEVICE type nextafter##suffix(type x, type y) { return offload_math::nextafter(x, y); }                      \
  OFFLOAD_DEVICE type logb##suffix(type x) { return offload_math::logb(x); }                                           \
  OFFLOAD_DEVICE int ilogb##suffix(type x) { return offload_math::ilogb(x); }                                          \
  OFFLOAD_DEVICE type modf##suffix(type x, type *whole) { return offload_math::modf(x, whole, trunc(x)); }             \
  OFFLOAD_DEVICE type scalbn##suffix(type x, int exponent) { return offload_math::ldexp(x, exponent); }                \
  OFFLOAD_DEVICE type scalbln##suffix(type x, long exponent) {                                                         \
    return offload_math::ldexp(x, int(exponent > 9999 ? 9999 : exponent < -9999 ? -9999 : exponent));                  \
  }                                                                                                                    \
  OFFLOAD_DEVICE long lrint##suffix(type x) { return long(rint(x)); }                                                  \
  OFFLOAD_DEVICE long long llrint##suffix(type x) { return (long long)(rint(x)); }                                     \
  OFFLOAD_DEVICE long lround##suffix(type x) { return long(round(x)); }                                                \
  OFFLOAD_DEVICE long long llround##suffix(type x) { return (long long)(round(x)); }                                   \
  OFFLOAD_DEVICE type nan##suffix(const char *) { return offload_math::nan<type>(); }                                  \
  OFFLOAD_DEVICE bool isnan(type x) { return __builtin_isnan(x); }                                                     \
  OFFLOAD_DEVICE bool isinf(type x) { return __builtin_isinf(x); }                                                     \
  OFFLOAD_DEVICE bool isfinite(type x) { return __builtin_isfinite(x); }                                               \
  OFFLOAD_DEVICE bool signbit(type x) { return __builtin_signbit(x); }                                                 \
  OFFLOAD_DEVICE int __isnan##suffix(type x) { return __builtin_isnan(x); }                                            \
  OFFLOAD_DEVICE int __isinf##suffix(type x) { return __builtin_isinf(x); }                                            \
  OFFLOAD_DEVICE int __finite##suffix(type x) { return __builtin_isfinite(x); }                                        \
  OFFLOAD_DEVICE int __signbit##suffix(type x) { return __builtin_signbit(x); }                                        \
  OFFLOAD_DEVICE type abs(type x) { return fabs(x); }
OFFLOAD_REST(float, f)
OFFLOAD_REST(double, )
#undef OFFLOAD_REST
OFFLOAD_FLOAT(ldexp, (T_ x, int exponent), (x, exponent))
OFFLOAD_FLOAT(scalbn, (T_ x, int exponent), (x, exponent))
OFFLOAD_FLOAT(frexp, (T_ x, int *exponent), (x, exponent))
OFFLOAD_FLOAT(fdim, (T_ x, T_ y), (x, y))
OFFLOAD_FLOAT(remainder, (T_ x, T_ y), (x, y))
OFFLOAD_FLOAT(nextafter, (T_ x, T_ y), (x, y))
OFFLOAD_FLOAT(logb, (T_ x), (x))
OFFLOAD_DEVICE float modf(float x, float *whole) { return modff(x, whole); }
OFFLOAD_DEVICE int abs(int x) { return x < 0 ? -x : x; }
OFFLOAD_DEVICE long abs(long x) { return x < 0 ? -x : x; }
OFFLOAD_DEVICE long long abs(long long x) { return x < 0 ? -x : x; }
OFFLOAD_DEVICE long labs(long x) { return abs(x); }
OFFLOAD_DEVICE long long llabs(long long x) { return abs(x); }

#endif

/* No C library has these.  A reciprocal may be a number though the norm is too large for one, so parts above 1 are scaled. */
#define OFFLOAD_NORMS(type, suffix)                                                                                    \
  OFFLOAD_YIELDS type rcbrt##suffix(type x) { return 1 / cbrt(x); }                                                    \
  OFFLOAD_YIELDS type rhypot##suffix(type x, type y) {                                                                 \
    type s = fabs(x) > 1 || fabs(y) > 1 ? type(0.25) : type(1);                                                        \
    return s / hypot(s * x, s * y);                                                                                    \
  }                                                                                                                    \
  OFFLOAD_YIELDS type norm3d##suffix(type x, type y, type z) { return hypot(hypot(x, y), z); }                         \
  OFFLOAD_YIELDS type norm4d##suffix(type x, type y, type z, type w) { return hypot(hypot(x, y), hypot(z, w)); }       \
  OFFLOAD_YIELDS type rnorm3d##suffix(type x, type y, type z) {                                                        \
    type s = fabs(x) > 1 || fabs(y) > 1 || fabs(z) > 1 ? type(0.25) : type(1);                                         \
    return s / norm3d##suffix(s * x, s * y, s * z);                                                                    \
  }                                                                                                                    \
  OFFLOAD_YIELDS type rnorm4d##suffix(type x, type y, type z, type w) {                                                \
    type s = fabs(x) > 1 || fabs(y) > 1 || fabs(z) > 1 || fabs(w) > 1 ? type(0.25) : type(1);                          \
    return s / norm4d##suffix(s * x, s * y, s * z, s * w);                                                             \
  }                                                                                                                    \
  OFFLOAD_YIELDS void sincospi##suffix(type x, type *sine, type *cosine) {                                             \
    *sine = sinpi##suffix(x);                                                                                          \
    *cosine = cospi##suffix(x);                                                                                        \
  }
OFFLOAD_NORMS(float, f)
OFFLOAD_NORMS(double, )
#undef OFFLOAD_NORMS
OFFLOAD_FLOAT(rcbrt, (T_ x), (x))
#undef OFFLOAD_FLOAT
OFFLOAD_YIELDS void sincos(float x, float *sine, float *cosine) { sincosf(x, sine, cosine); }
OFFLOAD_YIELDS void sincospi(float x, float *sine, float *cosine) { sincospif(x, sine, cosine); }
OFFLOAD_YIELDS float fdividef(float x, float y) { return x / y; }

#if !defined(OFFLOAD_CPU)
namespace offload_math {
/* The instructions of the fast functions: 2^x, log2(x), sin(x), cos(x), x / y. */
#if defined(OFFLOAD_AMDGPU)
#if __has_builtin(__builtin_amdgcn_exp2f)
OFFLOAD_DEVICE float fast_exp2(float x) { return __builtin_amdgcn_exp2f(x); }
OFFLOAD_DEVICE float fast_log2(float x) { return __builtin_amdgcn_logf(x); }
#else
OFFLOAD_DEVICE float fast_exp2(float x) { return exp2(x); }
OFFLOAD_DEVICE float fast_log2(float x) { return log2(x); }
#endif
OFFLOAD_DEVICE float fast_quotient(float x, float y) { return x * __builtin_amdgcn_rcpf(y); }
#elif defined(OFFLOAD_SPIRV)
/* OpenCL's functions, which the driver compiles. */
OFFLOAD_DEVICE float fast_exp2(float x) { return __builtin_exp2f(x); }
OFFLOAD_DEVICE float fast_log2(float x) { return __builtin_log2f(x); }
OFFLOAD_DEVICE float fast_quotient(float x, float y) { return x / y; }
#else
OFFLOAD_DEVICE float fast_exp2(float x) { return __nvvm_ex2_approx_f(x); }
OFFLOAD_DEVICE float fast_log2(float x) { return __nvvm_lg2_approx_f(x); }
OFFLOAD_DEVICE float fast_sin(float x) { return __nvvm_sin_approx_f(x); }
OFFLOAD_DEVICE float fast_cos(float x) { return __nvvm_cos_approx_f(x); }
OFFLOAD_DEVICE float fast_quotient(float x, float y) { return __nvvm_div_approx_f(x, y); }
#endif
#if !defined(OFFLOAD_NVPTX)
/* Without a library, clang compiles them to AMD's instructions, whose range is small before gfx9. */
OFFLOAD_DEVICE float fast_sin(float x) { return __builtin_sinf(x); }
OFFLOAD_DEVICE float fast_cos(float x) { return __builtin_cosf(x); }
#endif
} // namespace offload_math

OFFLOAD_DEVICE float __expf(float x) { return offload_math::fast_exp2(x * 1.44269502f); }
OFFLOAD_DEVICE float __exp10f(float x) { return offload_math::fast_exp2(x * 3.32192802f); }
OFFLOAD_DEVICE float __log2f(float x) { return offload_math::fast_log2(x); }
OFFLOAD_DEVICE float __logf(float x) { return offload_math::fast_log2(x) * 0.693147182f; }
OFFLOAD_DEVICE float __log10f(float x) { return offload_math::fast_log2(x) * 0.301030010f; }
OFFLOAD_DEVICE float __powf(float x, float y) { return offload_math::fast_exp2(y * offload_math::fast_log2(x)); }
OFFLOAD_DEVICE float __sinf(float x) { return offload_math::fast_sin(x); }
OFFLOAD_DEVICE float __cosf(float x) { return offload_math::fast_cos(x); }
OFFLOAD_DEVICE float __tanf(float x) {
  return offload_math::fast_quotient(offload_math::fast_sin(x), offload_math::fast_cos(x));
}
OFFLOAD_DEVICE void __sincosf(float x, float *sine, float *cosine) {
  *sine = offload_math::fast_sin(x);
  *cosine = offload_math::fast_cos(x);
}
OFFLOAD_YIELDS float __fdividef(float x, float y) { return offload_math::fast_quotient(x, y); }
#else
/* glibc declares functions of these names, but does not define them. */
#define __expf expf
#define __exp10f exp10f
#define __log2f log2f
#define __logf logf
#define __log10f log10f
#define __powf powf
#define __sinf sinf
#define __cosf cosf
#define __tanf tanf
#define __sincosf sincosf
OFFLOAD_YIELDS float __fdividef(float x, float y) { return x / y; }
#endif

OFFLOAD_YIELDS float __saturatef(float x) { return min(max(x, 0.0f), 1.0f); }

namespace offload_math {
/* In the lower tail, what was rounded off the argument of erfc is many digits of the result, so the slope there corrects it. */
template <typename T_, typename F_> OFFLOAD_HOST_DEVICE T_ normcdf(T_ x, F_ erfc) {
  T_ high = T_(-0.70710678118654752), low = T_(sizeof(T_) == 4 ? -1.21016171e-08 : 4.8336466567264567e-17);
  T_ b = x < -40 ? T_(-40) : x, s = b * high, lost = fma(b, low, fma(b, high, -s)), z = erfc(s);
  return T_(0.5) * (b < -1 ? fma(-2 * s * z, lost, z) : z);
}
} // namespace offload_math
/* The part of a normal distribution that is below x. */
OFFLOAD_YIELDS float normcdff(float x) {
  return offload_math::normcdf(x, [](float s) { return erfcf(s); });
}
OFFLOAD_YIELDS double normcdf(double x) {
  return offload_math::normcdf(x, [](double s) { return erfc(s); });
}
OFFLOAD_YIELDS float normcdf(float x) { return normcdff(x); }

#if defined(__clang__)
#pragma clang diagnostic pop
#endif

#endif

/* offload/float16.h: what __half and __nv_bfloat16 have in common.  Part of cuda_fp16.h and cuda_bf16.h, which define how each
 * type is converted to and from float.
 *
 * Conversions round once, to nearest, ties to even; offload/intrinsics.h defines those to integers.  Arithmetic is done in
 * float, and its result is rounded once.  That is exact for + - * / and sqrt of both types, except that products and quotients
 * of __nv_bfloat16 below its normal numbers are rounded twice.  So is __hfma if float cannot hold the sum.
 */
#ifndef OFFLOAD_FLOAT16_H
#define OFFLOAD_FLOAT16_H

#include "kernel.h"

#if defined(OFFLOAD_CPU)
#define OFFLOAD_MEMBER
#else
#define OFFLOAD_MEMBER __attribute__((host, device, always_inline)) inline
#endif

namespace offload_float16 {
/* Rounds the bits of a float (unsigned) or double (unsigned long long) to a format of fewer bits.  There is no sign, unless
 * both formats have the same exponents.  A number that is too large gets the code of infinity or a greater one. */
template <int fraction, int bias, typename T_> OFFLOAD_DEVICE unsigned nearest(T_ bits) {
  constexpr int from = sizeof(T_) == 4 ? 23 : 52, below = (sizeof(T_) == 4 ? 127 : 1023) - bias;
  int shift = from - fraction;
  if (below == 0 || int(bits >> from) > below) {
    bits -= T_(below) << from;
  } else {
    /* Subnormal numbers share one exponent, and have no 1 before their fraction. */
    shift += below + 1 - int(bits >> from);
    bits = (bits & ((T_(1) << from) - 1)) | T_(1) << from;
    if (shift > from + 1)
      return 0;
  }
  return unsigned((bits + (T_(1) << (shift - 1)) - 1 + (bits >> shift & 1)) >> shift);
}
/* Rounds the bits of a number with its sign to 16 bits. */
template <int fraction, int bias, typename T_> OFFLOAD_DEVICE unsigned short code(T_ bits) {
  T_ size = T_(bits << 1) >> 1;
  if (size > (sizeof(T_) == 4 ? T_(0x7f800000) : T_(0x7ff0000000000000)))
    return 0x7fff;
  unsigned found = nearest<fraction, bias>(size), infinity = 0x7fff >> fraction << fraction;
  return (unsigned short)(unsigned(bits >> (sizeof(T_) * 8 - 16) & 0x8000) | (found < infinity ? found : infinity));
}
/* The bits of a double.  If no double equals the integer, the last bit is 1 in place of all the bits after it: a further
 * rounding needs no more. */
OFFLOAD_DEVICE unsigned long long wide(double x) { return (unsigned long long)__double_as_longlong(x); }
template <typename T_> OFFLOAD_DEVICE unsigned long long wide(T_ x) {
  bool is_negative = x != 0 && x < T_(1);
  unsigned long long size = is_negative ? 0 - (unsigned long long)x : (unsigned long long)x;
  int zeros = __clzll((long long)size);
  if (zeros == 64)
    return 0;
  size <<= zeros;
  size = (unsigned long long)(1086 - zeros) << 52 | size << 1 >> 12 | ((size & 0x7ff) != 0);
  return (unsigned long long)is_negative << 63 | size;
}
} // namespace offload_float16

/* The integer types that are converted to the type, and the character types; the type is converted to both. */
#define OFFLOAD_INTEGERS(each, ...)                                                                                    \
  each(short, __VA_ARGS__) each(unsigned short, __VA_ARGS__) each(int, __VA_ARGS__) each(unsigned, __VA_ARGS__)        \
      each(long, __VA_ARGS__) each(unsigned long, __VA_ARGS__) each(long long, __VA_ARGS__)                            \
          each(unsigned long long, __VA_ARGS__)
#define OFFLOAD_CHARS(each, ...) each(char, __VA_ARGS__) each(signed char, __VA_ARGS__) each(unsigned char, __VA_ARGS__)
#define OFFLOAD_FLOAT16_OF(from, type, to_bits) OFFLOAD_MEMBER type(from x) : bits(to_bits(x)) {}
#define OFFLOAD_FLOAT16_TO(to, explicitly)                                                                             \
  OFFLOAD_MEMBER explicitly operator to() const { return offload_bits::integer<to>(float(*this)); }

/* The type, with conversions between it and all number types of C++, the type of its bits, and the type of pairs.  `nearest`
 * rounds results of arithmetic. */
#define OFFLOAD_FLOAT16_TYPES(type, type2, to_bits, rounded, to_float)                                                 \
  struct type##_raw {                                                                                                  \
    unsigned short x;                                                                                                  \
  };                                                                                                                   \
  struct type2##_raw {                                                                                                 \
    unsigned short x, y;                                                                                               \
  };                                                                                                                   \
  struct alignas(2) type {                                                                                             \
    unsigned short bits;                                                                                               \
    type() = default;                                                                                                  \
    static OFFLOAD_MEMBER type nearest(float x) { return of_bits(rounded(x)); }                                        \
    OFFLOAD_MEMBER type(float x) : bits(to_bits(x)) {}                                                                 \
    OFFLOAD_MEMBER type(double x) : bits(to_bits(x)) {}                                                                \
    OFFLOAD_INTEGERS(OFFLOAD_FLOAT16_OF, type, to_bits)                                                                \
    OFFLOAD_MEMBER operator float() const { return to_float(bits); }                                                   \
    OFFLOAD_MEMBER operator bool() const { return (bits & 0x7fff) != 0; }                                              \
    OFFLOAD_CHARS(OFFLOAD_FLOAT16_TO, )                                                                                \
    OFFLOAD_INTEGERS(OFFLOAD_FLOAT16_TO, )                                                                             \
    OFFLOAD_MEMBER type(type##_raw raw) : bits(raw.x) {}                                                               \
    OFFLOAD_MEMBER operator type##_raw() const { return type##_raw{bits}; }                                            \
    static OFFLOAD_MEMBER type of_bits(unsigned short bits) { return type(type##_raw{bits}); }                         \
  };                                                                                                                   \
  struct alignas(4) type2 {                                                                                            \
    type x, y;                                                                                                         \
    type2() = default;                                                                                                 \
    OFFLOAD_MEMBER type2(type x_, type y_) : x(x_), y(y_) {}                                                           \
    OFFLOAD_MEMBER type2(type2##_raw raw) : x(type##_raw{raw.x}), y(type##_raw{raw.y}) {}                              \
    OFFLOAD_MEMBER operator type2##_raw() const { return type2##_raw{x.bits, y.bits}; }                                \
  };

/* Operators and functions of the type and of the type of pairs. */
#define OFFLOAD_FLOAT16_FUNCTIONS(type, type2)                                                                         \
  OFFLOAD_FLOAT16_OPERATOR(type, type2, +, add)                                                                        \
  OFFLOAD_FLOAT16_OPERATOR(type, type2, -, sub)                                                                        \
  OFFLOAD_FLOAT16_OPERATOR(type, type2, *, mul)                                                                        \
  OFFLOAD_FLOAT16_OPERATOR(type, type2, /, div)                                                                        \
  OFFLOAD_YIELDS type operator-(type a) { return type::nearest(-float(a)); }                                           \
  OFFLOAD_YIELDS type operator+(type a) { return a; }                                                                  \
  OFFLOAD_YIELDS type2 operator-(type2 a) { return type2{-a.x, -a.y}; }                                                \
  OFFLOAD_YIELDS type2 operator+(type2 a) { return a; }                                                                \
  OFFLOAD_FLOAT16_STEP(type, type2, ++, +)                                                                             \
  OFFLOAD_FLOAT16_STEP(type, type2, --, -)                                                                             \
  OFFLOAD_FLOAT16_COMPARISON(type, type2, ==, eq)                                                                      \
  OFFLOAD_FLOAT16_COMPARISON(type, type2, !=, ne)                                                                      \
  OFFLOAD_FLOAT16_COMPARISON(type, type2, <, lt)                                                                       \
  OFFLOAD_FLOAT16_COMPARISON(type, type2, <=, le)                                                                      \
  OFFLOAD_FLOAT16_COMPARISON(type, type2, >, gt)                                                                       \
  OFFLOAD_FLOAT16_COMPARISON(type, type2, >=, ge)                                                                      \
  OFFLOAD_YIELDS type __hneg(type a) { return -a; }                                                                    \
  OFFLOAD_YIELDS type __habs(type a) { return type::nearest(fabsf(float(a))); }                                        \
  OFFLOAD_YIELDS type __hfma(type a, type b, type c) { return type::nearest(fmaf(float(a), float(b), float(c))); }     \
  OFFLOAD_YIELDS bool __hisnan(type a) { return float(a) != float(a); }                                                \
  OFFLOAD_YIELDS int __hisinf(type a) { return isinf(float(a)) ? (float(a) < 0 ? -1 : 1) : 0; }                        \
  OFFLOAD_FLOAT16_EXTREME(type, type2, __hmax, greatest)                                                               \
  OFFLOAD_FLOAT16_EXTREME(type, type2, __hmin, least)                                                                  \
  OFFLOAD_FLOAT16_MATH(type, type2, exp)                                                                               \
  OFFLOAD_FLOAT16_MATH(type, type2, exp2)                                                                              \
  OFFLOAD_FLOAT16_MATH(type, type2, exp10)                                                                             \
  OFFLOAD_FLOAT16_MATH(type, type2, log)                                                                               \
  OFFLOAD_FLOAT16_MATH(type, type2, log2)                                                                              \
  OFFLOAD_FLOAT16_MATH(type, type2, log10)                                                                             \
  OFFLOAD_FLOAT16_MATH(type, type2, sqrt)                                                                              \
  OFFLOAD_FLOAT16_MATH(type, type2, rsqrt)                                                                             \
  OFFLOAD_FLOAT16_MATH(type, type2, sin)                                                                               \
  OFFLOAD_FLOAT16_MATH(type, type2, cos)                                                                               \
  OFFLOAD_FLOAT16_MATH(type, type2, tanh)                                                                              \
  OFFLOAD_FLOAT16_MATH(type, type2, floor)                                                                             \
  OFFLOAD_FLOAT16_MATH(type, type2, ceil)                                                                              \
  OFFLOAD_FLOAT16_MATH(type, type2, trunc)                                                                             \
  OFFLOAD_FLOAT16_MATH(type, type2, rint)                                                                              \
  OFFLOAD_YIELDS type hrcp(type a) { return type::nearest(1 / float(a)); }                                             \
  OFFLOAD_YIELDS type2 __hfma2(type2 a, type2 b, type2 c) {                                                            \
    return type2{__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)};                                                        \
  }                                                                                                                    \
  OFFLOAD_FLOAT16_CLAMPED(type, type2, __hadd, (type a, type b), (a, b), (type2 a, type2 b), (a.x, b.x), (a.y, b.y))   \
  OFFLOAD_FLOAT16_CLAMPED(type, type2, __hsub, (type a, type b), (a, b), (type2 a, type2 b), (a.x, b.x), (a.y, b.y))   \
  OFFLOAD_FLOAT16_CLAMPED(type, type2, __hmul, (type a, type b), (a, b), (type2 a, type2 b), (a.x, b.x), (a.y, b.y))   \
  OFFLOAD_FLOAT16_CLAMPED(type, type2, __hfma, (type a, type b, type c), (a, b, c), (type2 a, type2 b, type2 c),       \
                          (a.x, b.x, c.x), (a.y, b.y, c.y))                                                            \
  OFFLOAD_YIELDS type __hfma_relu(type a, type b, type c) { return __hmax_nan(__hfma(a, b, c), type(0.0f)); }          \
  OFFLOAD_YIELDS type2 __hfma2_relu(type2 a, type2 b, type2 c) {                                                       \
    return type2{__hfma_relu(a.x, b.x, c.x), __hfma_relu(a.y, b.y, c.y)};                                              \
  }                                                                                                                    \
  OFFLOAD_YIELDS type2 __hisnan2(type2 a) { return type2{type(float(__hisnan(a.x))), type(float(__hisnan(a.y)))}; }    \
  OFFLOAD_YIELDS type2 h2rcp(type2 a) { return type2{hrcp(a.x), hrcp(a.y)}; }                                          \
  OFFLOAD_YIELDS type2 __h2div(type2 a, type2 b) { return a / b; }                                                     \
  OFFLOAD_YIELDS type2 __hneg2(type2 a) { return type2{-a.x, -a.y}; }                                                  \
  OFFLOAD_YIELDS type2 __habs2(type2 a) { return type2{__habs(a.x), __habs(a.y)}; }                                    \
  template <> struct offload_atomic::sum<type> {                                                                       \
    static constexpr bool is_here = true;                                                                              \
    static OFFLOAD_MEMBER type add(type *address, type value) {                                                        \
      auto after = [=](unsigned short old) { return (type::of_bits(old) + value).bits; };                              \
      return type::of_bits(offload_atomic::update(reinterpret_cast<unsigned short *>(address), after));                \
    }                                                                                                                  \
  };                                                                                                                   \
  template <> struct offload_atomic::sum<type2> {                                                                      \
    static constexpr bool is_here = true;                                                                              \
    static OFFLOAD_MEMBER type2 add(type2 *address, type2 value) {                                                     \
      return type2{atomicAdd(&address->x, value.x), atomicAdd(&address->y, value.y)};                                  \
    }                                                                                                                  \
  };

/* Functions that are named after conversions: __float2half, __half22float2, __int2half_rn, __half2int_rz and kin. */
#define OFFLOAD_FLOAT16_CASTS(type, type2, half)                                                                       \
  OFFLOAD_YIELDS float __##half##2float(type a) { return float(a); }                                                   \
  OFFLOAD_YIELDS type __float2##half(float a) { return type(a); }                                                      \
  OFFLOAD_YIELDS type __float2##half##_rn(float a) { return type(a); }                                                 \
  OFFLOAD_YIELDS type __double2##half(double a) { return type(a); }                                                    \
  OFFLOAD_YIELDS unsigned short __##half##_as_ushort(type a) { return a.bits; }                                        \
  OFFLOAD_YIELDS short __##half##_as_short(type a) { return short(a.bits); }                                           \
  OFFLOAD_YIELDS type __ushort_as_##half(unsigned short a) { return type::of_bits(a); }                                \
  OFFLOAD_YIELDS type __short_as_##half(short a) { return type::of_bits((unsigned short)a); }                          \
  OFFLOAD_YIELDS type2 __halves2##half##2(type a, type b) { return type2(a, b); }                                      \
  OFFLOAD_YIELDS type2 __##half##2##half##2(type a) { return type2(a, a); }                                            \
  OFFLOAD_YIELDS type2 make_##half##2(type a, type b) { return type2(a, b); }                                          \
  OFFLOAD_YIELDS type2 __float2##half##2_rn(float a) { return type2(type(a), type(a)); }                               \
  OFFLOAD_YIELDS type2 __floats2##half##2_rn(float a, float b) { return type2(type(a), type(b)); }                     \
  OFFLOAD_YIELDS type2 __float22##half##2_rn(float2 a) { return type2(type(a.x), type(a.y)); }                         \
  OFFLOAD_YIELDS float2 __##half##22float2(type2 a) { return float2{float(a.x), float(a.y)}; }                         \
  OFFLOAD_YIELDS type __low2##half(type2 a) { return a.x; }                                                            \
  OFFLOAD_YIELDS type __high2##half(type2 a) { return a.y; }                                                           \
  OFFLOAD_YIELDS float __low2float(type2 a) { return float(a.x); }                                                     \
  OFFLOAD_YIELDS float __high2float(type2 a) { return float(a.y); }                                                    \
  OFFLOAD_YIELDS type2 __lows2##half##2(type2 a, type2 b) { return type2(a.x, b.x); }                                  \
  OFFLOAD_YIELDS type2 __highs2##half##2(type2 a, type2 b) { return type2(a.y, b.y); }                                 \
  OFFLOAD_YIELDS type2 __low2##half##2(type2 a) { return type2(a.x, a.x); }                                            \
  OFFLOAD_YIELDS type2 __high2##half##2(type2 a) { return type2(a.y, a.y); }                                           \
  OFFLOAD_YIELDS signed char __##half##2char_rz(type a) { return a; }                                                  \
  OFFLOAD_YIELDS unsigned char __##half##2uchar_rz(type a) { return a; }                                               \
  OFFLOAD_FLOAT16_INTEGER(type, half, short, short)                                                                    \
  OFFLOAD_FLOAT16_INTEGER(type, half, ushort, unsigned short)                                                          \
  OFFLOAD_FLOAT16_INTEGER(type, half, int, int)                                                                        \
  OFFLOAD_FLOAT16_INTEGER(type, half, uint, unsigned)                                                                  \
  OFFLOAD_FLOAT16_INTEGER(type, half, ll, long long)                                                                   \
  OFFLOAD_FLOAT16_INTEGER(type, half, ull, unsigned long long)
#define OFFLOAD_FLOAT16_INTEGER(type, half, name, integer)                                                             \
  OFFLOAD_YIELDS type __##name##2##half##_rn(integer a) { return type(a); }                                            \
  OFFLOAD_TO_INTEGER(__##half##2##name, type, f, integer)

/* Functions named after a rounding use float's, which are never fused; to round again changes nothing. */
#define OFFLOAD_FLOAT16_OPERATOR(type, type2, sign, name)                                                              \
  OFFLOAD_YIELDS type operator sign(type a, type b) { return type::nearest(float(a) sign float(b)); }                  \
  OFFLOAD_YIELDS type &operator sign##=(type &a, type b) { return a = a sign b; }                                      \
  OFFLOAD_YIELDS type __h##name(type a, type b) { return a sign b; }                                                   \
  OFFLOAD_YIELDS type __h##name##_rn(type a, type b) { return type(__f##name##_rn(float(a), float(b))); }              \
  OFFLOAD_YIELDS type2 operator sign(type2 a, type2 b) { return type2{a.x sign b.x, a.y sign b.y}; }                   \
  OFFLOAD_YIELDS type2 &operator sign##=(type2 &a, type2 b) { return a = a sign b; }                                   \
  OFFLOAD_YIELDS type2 __h##name##2(type2 a, type2 b) { return a sign b; }                                             \
  OFFLOAD_YIELDS type2 __h##name##2_rn(type2 a, type2 b) {                                                             \
    return type2{__h##name##_rn(a.x, b.x), __h##name##_rn(a.y, b.y)};                                                  \
  }

/* From 0 to 1; NaN becomes 0. */
#define OFFLOAD_FLOAT16_CLAMPED(type, type2, name, parameters, arguments, parameters2, low, high)                      \
  OFFLOAD_YIELDS type name##_sat parameters {                                                                          \
    float found = float(name arguments);                                                                               \
    return type(found > 0 ? found < 1 ? found : 1.0f : 0.0f);                                                          \
  }                                                                                                                    \
  OFFLOAD_YIELDS type2 name##2_sat parameters2 { return type2{name##_sat low, name##_sat high}; }

/* Return NaN if both are NaN, or, with `nan` in the name, if one is.  NaN always has the same code. */
#define OFFLOAD_FLOAT16_EXTREME(type, type2, name, extreme)                                                            \
  OFFLOAD_YIELDS type name(type a, type b) {                                                                           \
    float found = offload_bits::extreme(float(a), float(b));                                                           \
    return found != found ? type::of_bits(0x7fff) : type::nearest(found);                                              \
  }                                                                                                                    \
  OFFLOAD_YIELDS type name##_nan(type a, type b) {                                                                     \
    return __hisnan(a) || __hisnan(b) ? type::of_bits(0x7fff) : name(a, b);                                            \
  }                                                                                                                    \
  OFFLOAD_YIELDS type2 name##2(type2 a, type2 b) { return type2{name(a.x, b.x), name(a.y, b.y)}; }                     \
  OFFLOAD_YIELDS type2 name##2_nan(type2 a, type2 b) { return type2{name##_nan(a.x, b.x), name##_nan(a.y, b.y)}; }

#define OFFLOAD_FLOAT16_STEP(type, type2, step, sign)                                                                  \
  OFFLOAD_YIELDS type &operator step(type &a) { return a = type::nearest(float(a) sign 1); }                           \
  OFFLOAD_YIELDS type2 &operator step(type2 &a) { return a = type2{step a.x, step a.y}; }                              \
  OFFLOAD_FLOAT16_STEP_AFTER(type, step)                                                                               \
  OFFLOAD_FLOAT16_STEP_AFTER(type2, step)
#define OFFLOAD_FLOAT16_STEP_AFTER(type, step)                                                                         \
  OFFLOAD_YIELDS type operator step(type &a, int) {                                                                    \
    type old = a;                                                                                                      \
    step a;                                                                                                            \
    return old;                                                                                                        \
  }

/* With a NaN, no comparison holds, or each one whose name has a `u`; the operators are those of float.  Of a pair, the result
 * is 1 or 0 for each, all bits or none (mask), or whether both hold (b and the operators). */
#define OFFLOAD_FLOAT16_COMPARISON(type, type2, sign, name)                                                            \
  OFFLOAD_YIELDS bool operator sign(type a, type b) { return float(a) sign float(b); }                                 \
  OFFLOAD_YIELDS bool operator sign(type2 a, type2 b) { return a.x sign b.x && a.y sign b.y; }                         \
  OFFLOAD_YIELDS bool __h##name(type a, type b) { return !__builtin_isunordered(float(a), float(b)) && a sign b; }     \
  OFFLOAD_YIELDS bool __h##name##u(type a, type b) { return __builtin_isunordered(float(a), float(b)) || a sign b; }   \
  OFFLOAD_FLOAT16_PAIRS(type, type2, name)                                                                             \
  OFFLOAD_FLOAT16_PAIRS(type, type2, name##u)
#define OFFLOAD_FLOAT16_PAIRS(type, type2, name)                                                                       \
  OFFLOAD_YIELDS bool __hb##name##2(type2 a, type2 b) { return __h##name(a.x, b.x) && __h##name(a.y, b.y); }           \
  OFFLOAD_YIELDS type2 __h##name##2(type2 a, type2 b) {                                                                \
    return type2{type(float(__h##name(a.x, b.x))), type(float(__h##name(a.y, b.y)))};                                  \
  }                                                                                                                    \
  OFFLOAD_YIELDS unsigned __h##name##2_mask(type2 a, type2 b) {                                                        \
    return (__h##name(a.x, b.x) ? 0xffffu : 0) | (__h##name(a.y, b.y) ? 0xffff0000u : 0);                              \
  }

#define OFFLOAD_FLOAT16_MATH(type, type2, name)                                                                        \
  OFFLOAD_YIELDS type h##name(type a) { return type::nearest(name##f(float(a))); }                                     \
  OFFLOAD_YIELDS type2 h2##name(type2 a) { return type2{h##name(a.x), h##name(a.y)}; }

#endif

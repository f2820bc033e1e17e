/* offload/float16.h: what __half and __nv_bfloat16 have in common.  Part of cuda_fp16.h and cuda_bf16.h, which define
 * for each type how it becomes a float and comes of one.
 *
 * Arithmetic is done in float and rounded once, which is exact for + - * / and sqrt of both types; __hfma is rounded
 * twice where float cannot hold the sum.  CUDA's functions round in the same direction: to nearest, ties to even.
 */
#ifndef OFFLOAD_FLOAT16_H
#define OFFLOAD_FLOAT16_H

#include "kernel.h"

#if defined(OFFLOAD_CPU)
#define OFFLOAD_MEMBER
#else
#define OFFLOAD_MEMBER __attribute__((device, always_inline)) inline
#endif

/* Between the type and every number of C++. */
#define OFFLOAD_FLOAT16_CONVERSIONS(type, of_float, to_float)                                                          \
  type() = default;                                                                                                    \
  OFFLOAD_MEMBER type(float x) : bits(of_float(x)) {}                                                                  \
  OFFLOAD_MEMBER type(double x) : bits(of_float(float(x))) {}                                                          \
  OFFLOAD_MEMBER type(int x) : bits(of_float(float(x))) {}                                                             \
  OFFLOAD_MEMBER type(unsigned x) : bits(of_float(float(x))) {}                                                        \
  OFFLOAD_MEMBER type(short x) : bits(of_float(float(x))) {}                                                           \
  OFFLOAD_MEMBER type(unsigned short x) : bits(of_float(float(x))) {}                                                  \
  OFFLOAD_MEMBER type(long x) : bits(of_float(float(x))) {}                                                            \
  OFFLOAD_MEMBER type(unsigned long x) : bits(of_float(float(x))) {}                                                   \
  OFFLOAD_MEMBER type(long long x) : bits(of_float(float(x))) {}                                                       \
  OFFLOAD_MEMBER type(unsigned long long x) : bits(of_float(float(x))) {}                                              \
  OFFLOAD_MEMBER operator float() const { return to_float(bits); }                                                     \
  OFFLOAD_MEMBER operator bool() const { return (bits & 0x7fff) != 0; }                                                \
  OFFLOAD_MEMBER operator signed char() const { return (signed char)to_float(bits); }                                  \
  OFFLOAD_MEMBER operator unsigned char() const { return (unsigned char)to_float(bits); }                              \
  OFFLOAD_MEMBER operator short() const { return short(to_float(bits)); }                                              \
  OFFLOAD_MEMBER operator unsigned short() const { return (unsigned short)to_float(bits); }                            \
  OFFLOAD_MEMBER operator int() const { return int(to_float(bits)); }                                                  \
  OFFLOAD_MEMBER operator unsigned() const { return unsigned(to_float(bits)); }                                        \
  OFFLOAD_MEMBER operator long() const { return long(to_float(bits)); }                                                \
  OFFLOAD_MEMBER operator unsigned long() const { return (unsigned long)to_float(bits); }                              \
  OFFLOAD_MEMBER operator long long() const { return (long long)to_float(bits); }                                      \
  OFFLOAD_MEMBER operator unsigned long long() const { return (unsigned long long)to_float(bits); }

/* Operators and functions, by the type's own name and that of the pair. */
#define OFFLOAD_FLOAT16_FUNCTIONS(type, type2)                                                                         \
  OFFLOAD_FLOAT16_OPERATOR(type, type2, +, __hadd)                                                                     \
  OFFLOAD_FLOAT16_OPERATOR(type, type2, -, __hsub)                                                                     \
  OFFLOAD_FLOAT16_OPERATOR(type, type2, *, __hmul)                                                                     \
  OFFLOAD_FLOAT16_OPERATOR(type, type2, /, __hdiv)                                                                     \
  OFFLOAD_YIELDS type operator-(type a) { return type(-float(a)); }                                                    \
  OFFLOAD_YIELDS type operator+(type a) { return a; }                                                                  \
  OFFLOAD_YIELDS type &operator++(type &a) { return a = type(float(a) + 1); }                                          \
  OFFLOAD_YIELDS type &operator--(type &a) { return a = type(float(a) - 1); }                                          \
  OFFLOAD_FLOAT16_COMPARISON(type, ==, __heq)                                                                          \
  OFFLOAD_FLOAT16_COMPARISON(type, !=, __hne)                                                                          \
  OFFLOAD_FLOAT16_COMPARISON(type, <, __hlt)                                                                           \
  OFFLOAD_FLOAT16_COMPARISON(type, <=, __hle)                                                                          \
  OFFLOAD_FLOAT16_COMPARISON(type, >, __hgt)                                                                           \
  OFFLOAD_FLOAT16_COMPARISON(type, >=, __hge)                                                                          \
  OFFLOAD_YIELDS type __hneg(type a) { return -a; }                                                                    \
  OFFLOAD_YIELDS type __habs(type a) { return type(fabsf(float(a))); }                                                 \
  OFFLOAD_YIELDS type __hfma(type a, type b, type c) { return type(fmaf(float(a), float(b), float(c))); }              \
  OFFLOAD_YIELDS type __hmax(type a, type b) { return type(offload_bits::greatest(float(a), float(b))); }              \
  OFFLOAD_YIELDS type __hmin(type a, type b) { return type(offload_bits::least(float(a), float(b))); }                 \
  OFFLOAD_YIELDS bool __hisnan(type a) { return float(a) != float(a); }                                                \
  OFFLOAD_YIELDS int __hisinf(type a) { return isinf(float(a)) ? (float(a) < 0 ? -1 : 1) : 0; }                        \
  /* Of these NaN wins. */                                                                                             \
  OFFLOAD_YIELDS type __hmax_nan(type a, type b) { return __hisnan(a) ? a : __hisnan(b) ? b : __hmax(a, b); }          \
  OFFLOAD_YIELDS type __hmin_nan(type a, type b) { return __hisnan(a) ? a : __hisnan(b) ? b : __hmin(a, b); }          \
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
  OFFLOAD_YIELDS type hrcp(type a) { return type(1 / float(a)); }                                                      \
  OFFLOAD_YIELDS type2 __hfma2(type2 a, type2 b, type2 c) {                                                            \
    return type2{__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)};                                                        \
  }                                                                                                                    \
  OFFLOAD_YIELDS type2 __hmax2(type2 a, type2 b) { return type2{__hmax(a.x, b.x), __hmax(a.y, b.y)}; }                 \
  OFFLOAD_YIELDS type2 __hmin2(type2 a, type2 b) { return type2{__hmin(a.x, b.x), __hmin(a.y, b.y)}; }                 \
  OFFLOAD_YIELDS type2 __hneg2(type2 a) { return type2{-a.x, -a.y}; }                                                  \
  OFFLOAD_YIELDS type2 __habs2(type2 a) { return type2{__habs(a.x), __habs(a.y)}; }                                    \
  template <> struct offload_atomic::sum<type> {                                                                       \
    static constexpr bool is_here = true;                                                                              \
    static OFFLOAD_MEMBER type add(type *address, type value) {                                                        \
      unsigned short *word = reinterpret_cast<unsigned short *>(address);                                              \
      unsigned short old = *static_cast<volatile unsigned short *>(word), assumed;                                     \
      do {                                                                                                             \
        type sum = type::of_bits(assumed = old) + value;                                                               \
        old = atomicCAS(word, assumed, sum.bits);                                                                      \
      } while (old != assumed);                                                                                        \
      return type::of_bits(old);                                                                                       \
    }                                                                                                                  \
  };                                                                                                                   \
  template <> struct offload_atomic::sum<type2> {                                                                      \
    static constexpr bool is_here = true;                                                                              \
    static OFFLOAD_MEMBER type2 add(type2 *address, type2 value) {                                                     \
      return type2{atomicAdd(&address->x, value.x), atomicAdd(&address->y, value.y)};                                  \
    }                                                                                                                  \
  };

#define OFFLOAD_FLOAT16_OPERATOR(type, type2, sign, name)                                                              \
  OFFLOAD_YIELDS type operator sign(type a, type b) { return type(float(a) sign float(b)); }                           \
  OFFLOAD_YIELDS type &operator sign##=(type &a, type b) { return a = a sign b; }                                      \
  OFFLOAD_YIELDS type name(type a, type b) { return a sign b; }                                                        \
  OFFLOAD_YIELDS type name##_rn(type a, type b) { return a sign b; }                                                   \
  OFFLOAD_YIELDS type2 operator sign(type2 a, type2 b) { return type2{a.x sign b.x, a.y sign b.y}; }                   \
  OFFLOAD_YIELDS type2 &operator sign##=(type2 &a, type2 b) { return a = a sign b; }                                   \
  OFFLOAD_YIELDS type2 name##2(type2 a, type2 b) { return a sign b; }

#define OFFLOAD_FLOAT16_COMPARISON(type, sign, name)                                                                   \
  OFFLOAD_YIELDS bool operator sign(type a, type b) { return float(a) sign float(b); }                                 \
  OFFLOAD_YIELDS bool name(type a, type b) { return a sign b; }

#define OFFLOAD_FLOAT16_MATH(type, type2, name)                                                                        \
  OFFLOAD_YIELDS type h##name(type a) { return type(name##f(float(a))); }                                              \
  OFFLOAD_YIELDS type2 h2##name(type2 a) { return type2{h##name(a.x), h##name(a.y)}; }

#endif

/* offload/names.h: types, constants, std::min and std::max, which sources for nvcc use without an include.  Part of
 * offload/kernel.h.
 *
 *   uint, ulong, ushort; size_t, ptrdiff_t, intptr_t, uintptr_t; int8_t to int64_t, uint8_t to uint64_t; clock_t
 *   INFINITY, NAN, HUGE_VAL, HUGE_VALF, NULL; M_PI and the other constants of <math.h>
 *   INT_MAX and kin of <limits.h>, UINT32_MAX and kin of <stdint.h>
 *   std::min, std::max of two values
 *
 * The headers of the C library define the same names; a source may include them.  FLT_MAX and kin need <float.h>, which clang
 * also has for GPUs: nvcc does not define them without this header, so sources define constants of these names.
 */
#ifndef OFFLOAD_NAMES_H
#define OFFLOAD_NAMES_H

typedef unsigned int uint;
typedef unsigned long ulong;
typedef unsigned short ushort;

#if !defined(OFFLOAD_CPU)
typedef __PTRDIFF_TYPE__ ptrdiff_t;
typedef __INTPTR_TYPE__ intptr_t;
typedef __UINTPTR_TYPE__ uintptr_t;
typedef __INT8_TYPE__ int8_t;
typedef __INT16_TYPE__ int16_t;
typedef __INT32_TYPE__ int32_t;
typedef __INT64_TYPE__ int64_t;
typedef __UINT8_TYPE__ uint8_t;
typedef __UINT16_TYPE__ uint16_t;
typedef __UINT32_TYPE__ uint32_t;
typedef __UINT64_TYPE__ uint64_t;

/* As in the host's <time.h>. */
#if defined(__APPLE__)
typedef unsigned long clock_t;
#else
typedef long clock_t;
#endif

#define NULL __null

#define CHAR_BIT __CHAR_BIT__
#define SCHAR_MAX __SCHAR_MAX__
#define SCHAR_MIN (-__SCHAR_MAX__ - 1)
#define UCHAR_MAX (__SCHAR_MAX__ * 2 + 1)
#if defined(__CHAR_UNSIGNED__)
#define CHAR_MAX UCHAR_MAX
#define CHAR_MIN 0
#else
#define CHAR_MAX SCHAR_MAX
#define CHAR_MIN SCHAR_MIN
#endif
#define SHRT_MAX __SHRT_MAX__
#define SHRT_MIN (-__SHRT_MAX__ - 1)
#define USHRT_MAX (__SHRT_MAX__ * 2 + 1)
#define INT_MAX __INT_MAX__
#define INT_MIN (-__INT_MAX__ - 1)
#define UINT_MAX (__INT_MAX__ * 2U + 1U)
#define LONG_MAX __LONG_MAX__
#define LONG_MIN (-__LONG_MAX__ - 1L)
#define ULONG_MAX (__LONG_MAX__ * 2UL + 1UL)
#define LLONG_MAX __LONG_LONG_MAX__
#define LLONG_MIN (-__LONG_LONG_MAX__ - 1LL)
#define ULLONG_MAX (__LONG_LONG_MAX__ * 2ULL + 1ULL)

#define INT8_MAX __INT8_MAX__
#define INT8_MIN (-__INT8_MAX__ - 1)
#define INT16_MAX __INT16_MAX__
#define INT16_MIN (-__INT16_MAX__ - 1)
#define INT32_MAX __INT32_MAX__
#define INT32_MIN (-__INT32_MAX__ - 1)
#define INT64_MAX __INT64_MAX__
#define INT64_MIN (-__INT64_MAX__ - 1)
#define UINT8_MAX __UINT8_MAX__
#define UINT16_MAX __UINT16_MAX__
#define UINT32_MAX __UINT32_MAX__
#define UINT64_MAX __UINT64_MAX__
#define SIZE_MAX __SIZE_MAX__
#define PTRDIFF_MAX __PTRDIFF_MAX__
#define PTRDIFF_MIN (-__PTRDIFF_MAX__ - 1)

#define INFINITY (__builtin_inff())
#define NAN (__builtin_nanf(""))
#define HUGE_VAL (__builtin_huge_val())
#define HUGE_VALF (__builtin_huge_valf())
#endif

/* The C++ standard does not contain these, and Windows defines them only on request. */
#if !defined(M_PI)
#define M_E 2.7182818284590452354
#define M_LOG2E 1.4426950408889634074
#define M_LOG10E 0.43429448190325182765
#define M_LN2 0.69314718055994530942
#define M_LN10 2.30258509299404568402
#define M_PI 3.14159265358979323846
#define M_PI_2 1.57079632679489661923
#define M_PI_4 0.78539816339744830962
#define M_1_PI 0.31830988618379067154
#define M_2_PI 0.63661977236758134308
#define M_2_SQRTPI 1.12837916709551257390
#define M_SQRT2 1.41421356237309504880
#define M_SQRT1_2 0.70710678118654752440
#endif

namespace offload_names {
template <int> struct no_more {};
template <> struct no_more<0> {
  template <typename T_> struct as {
    typedef T_ type;
  };
};
} // namespace offload_names

/* If a source includes <algorithm>, its functions are preferred to these, which have a parameter pack.  constexpr functions are
 * also device functions. */
namespace std {
template <typename T_, typename... None>
constexpr typename offload_names::no_more<sizeof...(None)>::template as<const T_ &>::type min(const T_ &a, const T_ &b,
                                                                                            None...) {
  return b < a ? b : a;
}
template <typename T_, typename... None>
constexpr typename offload_names::no_more<sizeof...(None)>::template as<const T_ &>::type max(const T_ &a, const T_ &b,
                                                                                            None...) {
  return a < b ? b : a;
}
} // namespace std

#endif

/* offload/bits.h: integers.  Part of offload/kernel.h.
 *
 *   __popc, __clz, __ffs, __brev, with ll after the name for 8 bytes; __umulhi, __mulhi, __umul64hi, __mul64hi
 *   __float_as_int, __int_as_float and their kin: the same bits read as another type
 *   min, max: of two integers, or floats; abs
 */
#ifndef OFFLOAD_BITS_H
#define OFFLOAD_BITS_H

OFFLOAD_YIELDS int __popc(unsigned x) { return __builtin_popcount(x); }
OFFLOAD_YIELDS int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
/* Returns the number of zeros above the highest bit that is set: all bits for 0. */
OFFLOAD_YIELDS int __clz(int x) { return x == 0 ? 32 : __builtin_clz(unsigned(x)); }
OFFLOAD_YIELDS int __clzll(long long x) { return x == 0 ? 64 : __builtin_clzll((unsigned long long)x); }
/* Returns the position of the lowest bit that is set, counted from 1, or 0 if no bit is set. */
OFFLOAD_YIELDS int __ffs(int x) { return __builtin_ffs(x); }
OFFLOAD_YIELDS int __ffsll(long long x) { return __builtin_ffsll(x); }

OFFLOAD_YIELDS unsigned __brev(unsigned x) {
#if defined(OFFLOAD_CPU)
  x = (x >> 1 & 0x55555555) | (x & 0x55555555) << 1;
  x = (x >> 2 & 0x33333333) | (x & 0x33333333) << 2;
  x = (x >> 4 & 0x0f0f0f0f) | (x & 0x0f0f0f0f) << 4;
  return __builtin_bswap32(x);
#elif defined(OFFLOAD_SPIRV)
  /* OpenCL has no such instruction, and clang crashes if it recognizes the steps above.  One product spreads the eight bits of
   * a byte in reverse order, one to a byte.  A second product gathers them. */
  unsigned all = 0;
  for (int byte = 0; byte < 4; ++byte, x >>= 8)
    all = all << 8 | unsigned(((x & 0xffull) * 0x80200802 & 0x0884422110) * 0x0101010101 >> 32 & 0xff);
  return all;
#else
  return __builtin_bitreverse32(x);
#endif
}
OFFLOAD_YIELDS unsigned long long __brevll(unsigned long long x) {
  return (unsigned long long)(__brev(unsigned(x))) << 32 | __brev(unsigned(x >> 32));
}

/* The upper half of a product. */
OFFLOAD_YIELDS unsigned __umulhi(unsigned a, unsigned b) { return unsigned((unsigned long long)(a) * b >> 32); }
OFFLOAD_YIELDS int __mulhi(int a, int b) { return int((long long)(a) * b >> 32); }
#if defined(OFFLOAD_SPIRV)
/* OpenCL's function.  From the steps below, clang would make 128-bit integers, which SPIR-V lacks, and crash. */
__attribute__((device)) unsigned long __spirv_ocl_u_mul_hi(unsigned long a, unsigned long b);
#endif
OFFLOAD_YIELDS unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
#if defined(OFFLOAD_SPIRV)
  return __spirv_ocl_u_mul_hi(a, b);
#else
  unsigned long long a0 = unsigned(a), a1 = a >> 32, b0 = unsigned(b), b1 = b >> 32;
  unsigned long long middle = a1 * b0 + (a0 * b0 >> 32), other = a0 * b1 + unsigned(middle);
  return a1 * b1 + (middle >> 32) + (other >> 32);
#endif
}
OFFLOAD_YIELDS long long __mul64hi(long long a, long long b) {
  unsigned long long ua = (unsigned long long)a, ub = (unsigned long long)b;
  return (long long)(__umul64hi(ua, ub) - (a < 0 ? ub : 0) - (b < 0 ? ua : 0));
}

namespace offload_bits {
template <typename To, typename From> OFFLOAD_DEVICE To as(From from) {
  static_assert(sizeof(To) == sizeof(From), "the same bits");
  To to;
  __builtin_memcpy(&to, &from, sizeof(To));
  return to;
}

/* If one of the two is NaN, even a signaling one, the other is returned; -0 is less than 0.  Some C libraries return NaN for a
 * signaling NaN and a number. */
template <typename T_> OFFLOAD_DEVICE T_ least(T_ a, T_ b) {
  return a != a ? b : b != b ? a : a < b || (a == b && __builtin_signbit(a)) ? a : b;
}
template <typename T_> OFFLOAD_DEVICE T_ greatest(T_ a, T_ b) {
  return a != a ? b : b != b ? a : a > b || (a == b && !__builtin_signbit(a)) ? a : b;
}
} // namespace offload_bits

OFFLOAD_YIELDS int __float_as_int(float x) { return offload_bits::as<int>(x); }
OFFLOAD_YIELDS unsigned __float_as_uint(float x) { return offload_bits::as<unsigned>(x); }
OFFLOAD_YIELDS float __int_as_float(int x) { return offload_bits::as<float>(x); }
OFFLOAD_YIELDS float __uint_as_float(unsigned x) { return offload_bits::as<float>(x); }
OFFLOAD_YIELDS long long __double_as_longlong(double x) { return offload_bits::as<long long>(x); }
OFFLOAD_YIELDS double __longlong_as_double(long long x) { return offload_bits::as<double>(x); }

#define OFFLOAD_MIN_MAX(type)                                                                                          \
  OFFLOAD_YIELDS type min(type a, type b) { return b < a ? b : a; }                                                    \
  OFFLOAD_YIELDS type max(type a, type b) { return a < b ? b : a; }
OFFLOAD_MIN_MAX(int)
OFFLOAD_MIN_MAX(unsigned)
OFFLOAD_MIN_MAX(long)
OFFLOAD_MIN_MAX(unsigned long)
OFFLOAD_MIN_MAX(long long)
OFFLOAD_MIN_MAX(unsigned long long)
#undef OFFLOAD_MIN_MAX
/* If one is signed and the other is not, both are compared as unsigned. */
#define OFFLOAD_MIN_MAX(type)                                                                                          \
  OFFLOAD_YIELDS unsigned type min(type a, unsigned type b) { return min((unsigned type)a, b); }                       \
  OFFLOAD_YIELDS unsigned type min(unsigned type a, type b) { return min(a, (unsigned type)b); }                       \
  OFFLOAD_YIELDS unsigned type max(type a, unsigned type b) { return max((unsigned type)a, b); }                       \
  OFFLOAD_YIELDS unsigned type max(unsigned type a, type b) { return max(a, (unsigned type)b); }
OFFLOAD_MIN_MAX(int)
OFFLOAD_MIN_MAX(long)
OFFLOAD_MIN_MAX(long long)
#undef OFFLOAD_MIN_MAX
/* For a number and NaN, these return the number. */
#if defined(OFFLOAD_CPU)
OFFLOAD_YIELDS float min(float a, float b) { return offload_bits::least(a, b); }
OFFLOAD_YIELDS float max(float a, float b) { return offload_bits::greatest(a, b); }
OFFLOAD_YIELDS double min(double a, double b) { return offload_bits::least(a, b); }
OFFLOAD_YIELDS double max(double a, double b) { return offload_bits::greatest(a, b); }
#else
OFFLOAD_YIELDS float min(float a, float b) { return __builtin_fminf(a, b); }
OFFLOAD_YIELDS float max(float a, float b) { return __builtin_fmaxf(a, b); }
OFFLOAD_YIELDS double min(double a, double b) { return __builtin_fmin(a, b); }
OFFLOAD_YIELDS double max(double a, double b) { return __builtin_fmax(a, b); }
#endif

OFFLOAD_YIELDS double min(float a, double b) { return min(double(a), b); }
OFFLOAD_YIELDS double min(double a, float b) { return min(a, double(b)); }
OFFLOAD_YIELDS double max(float a, double b) { return max(double(a), b); }
OFFLOAD_YIELDS double max(double a, float b) { return max(a, double(b)); }

#endif

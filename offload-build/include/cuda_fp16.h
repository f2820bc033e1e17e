/* cuda_fp16.h: __half, __half2 and their functions, under the name by which CUDA sources include them.
 *
 * Each operation converts its numbers to float, and rounds its result to nearest: offload/float16.h.
 */
#ifndef OFFLOAD_CUDA_FP16_H
#define OFFLOAD_CUDA_FP16_H

#include "offload/float16.h"

/* clang 15 and 16 have no _Float16 for NVIDIA's GPUs, though all of these can convert; 19 has it; 17 and 18 were not tried.  No
 * macro shows it, since CUDA mode also defines the macros of the host's compiler. */
#if defined(__NVPTX__) && __clang_major__ < 19
#define OFFLOAD_HALF_BY_PTX
#endif

namespace offload_float16 {
#if defined(OFFLOAD_NVPTX)
OFFLOAD_DEVICE unsigned short half_by_ptx(float number) {
  unsigned short bits;
  __asm__("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(number));
  return bits;
}
#endif
/* 1 sign, 5 exponent (bias 15), 10 fraction bits.  On GPUs, clang fuses this with the arithmetic before it. */
OFFLOAD_DEVICE unsigned short half_rounded(float number) {
#if defined(OFFLOAD_CPU)
  return code<10, 15>(__float_as_uint(number));
#elif defined(OFFLOAD_HALF_BY_PTX)
  return half_by_ptx(number);
#else
  return offload_bits::as<unsigned short>(_Float16(number));
#endif
}
/* A conversion that is never fused. */
OFFLOAD_DEVICE unsigned short half_bits(float number) {
#if defined(OFFLOAD_NVPTX)
  if (!__builtin_constant_p(number))
    return half_by_ptx(number);
#elif defined(OFFLOAD_AMDGPU)
  if (!__builtin_constant_p(number)) {
    _Float16 value = _Float16(offload_bits::alone(number));
    __asm__("" : "+v"(value));
    return offload_bits::as<unsigned short>(value);
  }
#endif
  return half_rounded(number);
}
OFFLOAD_DEVICE unsigned short half_bits(double number) { return code<10, 15>(wide(number)); }
/* Integers that float cannot hold exactly are too large for a half anyway. */
template <typename T_> OFFLOAD_DEVICE unsigned short half_bits(T_ integer) { return half_bits(float(integer)); }
OFFLOAD_DEVICE float float_of_half(unsigned short bits) {
#if defined(OFFLOAD_CPU)
  unsigned sign = unsigned(bits & 0x8000) << 16, rest = bits & 0x7fff;
  unsigned size = rest >= 0x7c00  ? 0x7f800000 | (rest & 0x3ff) << 13
                  : rest >= 0x400 ? (rest << 13) + 0x38000000
                                  : __float_as_uint(float(rest) * (1 / 16777216.0f));
  return __uint_as_float(sign | size);
#elif defined(OFFLOAD_HALF_BY_PTX)
  float number;
  __asm__("cvt.f32.f16 %0, %1;" : "=f"(number) : "h"(bits));
  return number;
#else
  return float(offload_bits::as<_Float16>(bits));
#endif
}
} // namespace offload_float16

struct __half_raw {
  unsigned short x;
};
struct alignas(2) __half {
  unsigned short bits;
  OFFLOAD_FLOAT16_CONVERSIONS(__half, offload_float16::half_bits, offload_float16::half_rounded,
                              offload_float16::float_of_half)
  OFFLOAD_MEMBER __half(__half_raw raw) : bits(raw.x) {}
  OFFLOAD_MEMBER operator __half_raw() const { return __half_raw{bits}; }
  static OFFLOAD_MEMBER __half of_bits(unsigned short bits) { return __half(__half_raw{bits}); }
};
struct __half2_raw {
  unsigned short x, y;
};
struct alignas(4) __half2 {
  __half x, y;
  __half2() = default;
  OFFLOAD_MEMBER __half2(__half x_, __half y_) : x(x_), y(y_) {}
};
typedef __half half;
typedef __half2 half2;
typedef __half nv_half;
typedef __half2 nv_half2;

OFFLOAD_FLOAT16_FUNCTIONS(__half, __half2)
OFFLOAD_FLOAT16_INTEGERS(__half, half)

OFFLOAD_YIELDS float __half2float(__half a) { return float(a); }
OFFLOAD_YIELDS __half __float2half(float a) { return __half(a); }
OFFLOAD_YIELDS __half __float2half_rn(float a) { return __half(a); }
OFFLOAD_YIELDS __half __double2half(double a) { return __half(a); }
OFFLOAD_YIELDS unsigned short __half_as_ushort(__half a) { return a.bits; }
OFFLOAD_YIELDS short __half_as_short(__half a) { return short(a.bits); }
OFFLOAD_YIELDS __half __ushort_as_half(unsigned short a) { return __half::of_bits(a); }
OFFLOAD_YIELDS __half __short_as_half(short a) { return __half::of_bits((unsigned short)a); }
OFFLOAD_YIELDS __half2 __halves2half2(__half a, __half b) { return __half2(a, b); }
OFFLOAD_YIELDS __half2 __half2half2(__half a) { return __half2(a, a); }
OFFLOAD_YIELDS __half2 make_half2(__half a, __half b) { return __half2(a, b); }
OFFLOAD_YIELDS __half2 __float2half2_rn(float a) { return __half2(__half(a), __half(a)); }
OFFLOAD_YIELDS __half2 __floats2half2_rn(float a, float b) { return __half2(__half(a), __half(b)); }
OFFLOAD_YIELDS __half2 __float22half2_rn(float2 a) { return __half2(__half(a.x), __half(a.y)); }
OFFLOAD_YIELDS float2 __half22float2(__half2 a) { return float2{float(a.x), float(a.y)}; }
OFFLOAD_YIELDS __half __low2half(__half2 a) { return a.x; }
OFFLOAD_YIELDS __half __high2half(__half2 a) { return a.y; }
OFFLOAD_YIELDS float __low2float(__half2 a) { return float(a.x); }
OFFLOAD_YIELDS float __high2float(__half2 a) { return float(a.y); }
OFFLOAD_YIELDS __half2 __lows2half2(__half2 a, __half2 b) { return __half2(a.x, b.x); }
OFFLOAD_YIELDS __half2 __highs2half2(__half2 a, __half2 b) { return __half2(a.y, b.y); }
OFFLOAD_YIELDS __half2 __low2half2(__half2 a) { return __half2(a.x, a.x); }
OFFLOAD_YIELDS __half2 __high2half2(__half2 a) { return __half2(a.y, a.y); }
OFFLOAD_YIELDS __half2 __lowhigh2highlow(__half2 a) { return __half2(a.y, a.x); }

#endif

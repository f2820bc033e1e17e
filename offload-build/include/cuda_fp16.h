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

OFFLOAD_FLOAT16_TYPES(__half, __half2, offload_float16::half_bits, offload_float16::half_rounded,
                      offload_float16::float_of_half)
typedef __half half;
typedef __half2 half2;
typedef __half nv_half;
typedef __half2 nv_half2;

OFFLOAD_FLOAT16_FUNCTIONS(__half, __half2)
OFFLOAD_FLOAT16_CASTS(__half, __half2, half)
OFFLOAD_YIELDS __half2 __lowhigh2highlow(__half2 a) { return __half2(a.y, a.x); }

#endif

/* cuda_fp8.h: __nv_fp8_e4m3, __nv_fp8_e5m2 and the conversions of them, under the name by which CUDA sources include them.
 *
 * Bytes to be stored: there is no arithmetic.  What is too large for the type becomes its largest number, as CUDA's
 * classes have it.
 */
#ifndef OFFLOAD_CUDA_FP8_H
#define OFFLOAD_CUDA_FP8_H

#include "cuda_bf16.h"
#include "cuda_fp16.h"

typedef unsigned char __nv_fp8_storage_t;
typedef enum { __NV_NOSAT, __NV_SATFINITE } __nv_saturation_t;
typedef enum { __NV_E4M3, __NV_E5M2 } __nv_fp8_interpretation_t;

namespace offload_float8 {
/* Of E4M3 only the byte without its sign full of ones is no number; E5M2 is the upper half of a __half. */
OFFLOAD_DEVICE float number(unsigned char bits, __nv_fp8_interpretation_t kind) {
  if (kind == __NV_E5M2)
    return offload_float16::float_of_half((unsigned short)(unsigned(bits) << 8));
  unsigned exponent = bits >> 3 & 15, fraction = bits & 7;
  float value = exponent == 15 && fraction == 7 ? __uint_as_float(0x7fffffff)
                : exponent == 0                 ? float(fraction) * (1 / 512.0f)
                                : __uint_as_float((exponent + 120) << 23 | fraction << 20);
  return bits & 128 ? -value : value;
}
OFFLOAD_DEVICE unsigned char bits(float number, __nv_saturation_t saturation, __nv_fp8_interpretation_t kind) {
  unsigned x = __float_as_uint(number), sign = x >> 24 & 128;
  float value = fabsf(number);
  bool is_e4m3 = kind == __NV_E4M3;
  if (number != number)
    return (unsigned char)(is_e4m3 ? sign | 0x7f : 0x7f);
  /* Above the middle between the largest number and what would come next. */
  float beyond = is_e4m3 ? 464.0f : 61440.0f;
  if (value > beyond || (value == beyond && !is_e4m3) || value == beyond) {
    bool is_largest = saturation == __NV_SATFINITE || (value == beyond && is_e4m3);
    return (unsigned char)(sign | (is_e4m3 ? (is_largest ? 0x7e : 0x7f) : (is_largest ? 0x7b : 0x7c)));
  }
  unsigned fraction_bits = is_e4m3 ? 3 : 2;
  /* Multiples of the least number, or of what counts in this exponent: rounded to even by adding and taking away. */
  float least_normal = is_e4m3 ? 1 / 64.0f : 1 / 16384.0f;
  if (value < least_normal) {
    float steps = rintf(value / (least_normal / float(1 << fraction_bits)));
    return (unsigned char)(sign | unsigned(steps));
  }
  unsigned y = __float_as_uint(value), shift = 23 - fraction_bits;
  y = (y + (1u << (shift - 1)) - 1 + (y >> shift & 1)) >> shift;
  return (unsigned char)(sign | (y - (unsigned(is_e4m3 ? 120 : 112) << fraction_bits)));
}
} // namespace offload_float8

OFFLOAD_YIELDS __nv_fp8_storage_t __nv_cvt_float_to_fp8(float x, __nv_saturation_t saturation,
                                                       __nv_fp8_interpretation_t kind) {
  return offload_float8::bits(x, saturation, kind);
}
OFFLOAD_YIELDS __nv_fp8_storage_t __nv_cvt_double_to_fp8(double x, __nv_saturation_t saturation,
                                                        __nv_fp8_interpretation_t kind) {
  return offload_float8::bits(float(x), saturation, kind);
}
OFFLOAD_YIELDS __nv_fp8_storage_t __nv_cvt_halfraw_to_fp8(__half_raw x, __nv_saturation_t saturation,
                                                         __nv_fp8_interpretation_t kind) {
  return offload_float8::bits(float(__half(x)), saturation, kind);
}
OFFLOAD_YIELDS __nv_fp8_storage_t __nv_cvt_bfloat16raw_to_fp8(__nv_bfloat16_raw x, __nv_saturation_t saturation,
                                                             __nv_fp8_interpretation_t kind) {
  return offload_float8::bits(float(__nv_bfloat16(x)), saturation, kind);
}
OFFLOAD_YIELDS __half_raw __nv_cvt_fp8_to_halfraw(__nv_fp8_storage_t x, __nv_fp8_interpretation_t kind) {
  return __half(offload_float8::number(x, kind));
}

#define OFFLOAD_FLOAT8(type, kind)                                                                                     \
  struct type {                                                                                                        \
    __nv_fp8_storage_t __x;                                                                                            \
    type() = default;                                                                                                  \
    OFFLOAD_MEMBER explicit type(float x) : __x(offload_float8::bits(x, __NV_SATFINITE, kind)) {}                      \
    OFFLOAD_MEMBER explicit type(double x) : type(float(x)) {}                                                         \
    OFFLOAD_MEMBER explicit type(__half x) : type(float(x)) {}                                                         \
    OFFLOAD_MEMBER explicit type(__nv_bfloat16 x) : type(float(x)) {}                                                  \
    OFFLOAD_MEMBER explicit type(int x) : type(float(x)) {}                                                            \
    OFFLOAD_MEMBER explicit type(unsigned x) : type(float(x)) {}                                                       \
    OFFLOAD_MEMBER explicit type(long x) : type(float(x)) {}                                                           \
    OFFLOAD_MEMBER explicit type(unsigned long x) : type(float(x)) {}                                                  \
    OFFLOAD_MEMBER explicit type(long long x) : type(float(x)) {}                                                      \
    OFFLOAD_MEMBER explicit type(unsigned long long x) : type(float(x)) {}                                             \
    OFFLOAD_MEMBER explicit operator float() const { return offload_float8::number(__x, kind); }                       \
    OFFLOAD_MEMBER explicit operator double() const { return float(*this); }                                           \
    OFFLOAD_MEMBER explicit operator __half() const { return __half(float(*this)); }                                   \
    OFFLOAD_MEMBER explicit operator __nv_bfloat16() const { return __nv_bfloat16(float(*this)); }                     \
    OFFLOAD_MEMBER explicit operator bool() const { return (__x & 0x7f) != 0; }                                        \
    OFFLOAD_MEMBER explicit operator int() const { return int(float(*this)); }                                         \
    OFFLOAD_MEMBER explicit operator unsigned() const { return unsigned(float(*this)); }                               \
    OFFLOAD_MEMBER explicit operator unsigned char() const { return (unsigned char)float(*this); }                     \
    OFFLOAD_MEMBER explicit operator long long() const { return (long long)float(*this); }                             \
  };
OFFLOAD_FLOAT8(__nv_fp8_e4m3, __NV_E4M3)
OFFLOAD_FLOAT8(__nv_fp8_e5m2, __NV_E5M2)
#undef OFFLOAD_FLOAT8

#endif

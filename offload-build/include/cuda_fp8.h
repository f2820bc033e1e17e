/* cuda_fp8.h: __nv_fp8_e4m3, __nv_fp8_e5m2 and their conversions, under the name by which CUDA sources include them.
 *
 * The types only store bytes: there is no arithmetic.  As in CUDA's classes, a number that is too large for the type becomes
 * its largest number.
 */
#ifndef OFFLOAD_CUDA_FP8_H
#define OFFLOAD_CUDA_FP8_H

#include "cuda_bf16.h"
#include "cuda_fp16.h"

typedef unsigned char __nv_fp8_storage_t;
typedef enum { __NV_NOSAT, __NV_SATFINITE } __nv_saturation_t;
typedef enum { __NV_E4M3, __NV_E5M2 } __nv_fp8_interpretation_t;

namespace offload_float8 {
/* In E4M3, only a code of seven ones (without the sign) is NaN.  E5M2 is the upper half of a __half. */
OFFLOAD_DEVICE float number(unsigned char bits, __nv_fp8_interpretation_t kind) {
  if (kind == __NV_E5M2)
    return offload_float16::float_of_half((unsigned short)(unsigned(bits) << 8));
  unsigned sign = unsigned(bits & 128) << 24, rest = bits & 127;
  unsigned size = rest == 127 ? 0x7fffffff
                  : rest >= 8 ? (rest << 20) + 0x3c000000
                              : __float_as_uint(float(rest) * (1 / 512.0f));
  return __uint_as_float(sign | size);
}
/* Rounds the bits of a float or double. */
template <typename T_>
OFFLOAD_DEVICE unsigned char code(T_ bits, __nv_saturation_t saturation, __nv_fp8_interpretation_t kind) {
  bool is_e4m3 = kind == __NV_E4M3;
  T_ size = T_(bits << 1) >> 1;
  unsigned sign = unsigned(bits >> (sizeof(T_) * 8 - 8)) & 128, largest = is_e4m3 ? 0x7e : 0x7b;
  if (size > (sizeof(T_) == 4 ? T_(0x7f800000) : T_(0x7ff0000000000000)))
    return 0x7f;
  unsigned found = is_e4m3 ? offload_float16::nearest<3, 7>(size) : offload_float16::nearest<2, 15>(size);
  unsigned beyond = saturation == __NV_SATFINITE ? largest : largest + 1;
  return (unsigned char)(sign | (found <= largest ? found : beyond));
}
} // namespace offload_float8

OFFLOAD_YIELDS __nv_fp8_storage_t __nv_cvt_float_to_fp8(float x, __nv_saturation_t saturation,
                                                       __nv_fp8_interpretation_t kind) {
  return offload_float8::code(__float_as_uint(x), saturation, kind);
}
OFFLOAD_YIELDS __nv_fp8_storage_t __nv_cvt_double_to_fp8(double x, __nv_saturation_t saturation,
                                                        __nv_fp8_interpretation_t kind) {
  return offload_float8::code(offload_float16::wide(x), saturation, kind);
}
OFFLOAD_YIELDS __nv_fp8_storage_t __nv_cvt_halfraw_to_fp8(__half_raw x, __nv_saturation_t saturation,
                                                         __nv_fp8_interpretation_t kind) {
  return __nv_cvt_float_to_fp8(float(__half(x)), saturation, kind);
}
OFFLOAD_YIELDS __nv_fp8_storage_t __nv_cvt_bfloat16raw_to_fp8(__nv_bfloat16_raw x, __nv_saturation_t saturation,
                                                             __nv_fp8_interpretation_t kind) {
  return __nv_cvt_float_to_fp8(float(__nv_bfloat16(x)), saturation, kind);
}
OFFLOAD_YIELDS __half_raw __nv_cvt_fp8_to_halfraw(__nv_fp8_storage_t x, __nv_fp8_interpretation_t kind) {
  return __half(offload_float8::number(x, kind));
}

/* Integers that float cannot hold exactly are too large for these types anyway. */
#define OFFLOAD_FLOAT8_OF(from, type) OFFLOAD_MEMBER explicit type(from x) : type(float(x)) {}
#define OFFLOAD_FLOAT8(type, kind)                                                                                     \
  struct type {                                                                                                        \
    __nv_fp8_storage_t __x;                                                                                            \
    type() = default;                                                                                                  \
    OFFLOAD_MEMBER explicit type(float x) : __x(__nv_cvt_float_to_fp8(x, __NV_SATFINITE, kind)) {}                     \
    OFFLOAD_MEMBER explicit type(double x) : __x(__nv_cvt_double_to_fp8(x, __NV_SATFINITE, kind)) {}                   \
    OFFLOAD_MEMBER explicit type(__half x) : type(float(x)) {}                                                         \
    OFFLOAD_MEMBER explicit type(__nv_bfloat16 x) : type(float(x)) {}                                                  \
    OFFLOAD_INTEGERS(OFFLOAD_FLOAT8_OF, type)                                                                          \
    OFFLOAD_MEMBER explicit operator float() const { return offload_float8::number(__x, kind); }                       \
    OFFLOAD_MEMBER explicit operator double() const { return float(*this); }                                           \
    OFFLOAD_MEMBER explicit operator __half() const { return __half(float(*this)); }                                   \
    OFFLOAD_MEMBER explicit operator __nv_bfloat16() const { return __nv_bfloat16(float(*this)); }                     \
    OFFLOAD_MEMBER explicit operator bool() const { return (__x & 0x7f) != 0; }                                        \
    OFFLOAD_CHARS(OFFLOAD_FLOAT16_TO, explicit)                                                                        \
    OFFLOAD_INTEGERS(OFFLOAD_FLOAT16_TO, explicit)                                                                     \
  };
OFFLOAD_FLOAT8(__nv_fp8_e4m3, __NV_E4M3)
OFFLOAD_FLOAT8(__nv_fp8_e5m2, __NV_E5M2)
#undef OFFLOAD_FLOAT8
#undef OFFLOAD_FLOAT8_OF

#endif

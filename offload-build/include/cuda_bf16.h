/* cuda_bf16.h: __nv_bfloat16, __nv_bfloat162 and their functions, under the name by which CUDA sources include them.
 *
 * A number is the upper half of a float. Each operation is done in float, and its result rounded to nearest: offload/float16.h.
 */
#ifndef OFFLOAD_CUDA_BF16_H
#define OFFLOAD_CUDA_BF16_H

#include "offload/float16.h"

namespace offload_float16 {
OFFLOAD_DEVICE unsigned short bfloat16_bits(float number) {
  unsigned x = __float_as_uint(number);
  return (unsigned short)((x & 0x7fffffff) > 0x7f800000 ? 0x7fff : nearest<7, 127>(x));
}
template <typename T_> OFFLOAD_DEVICE unsigned short bfloat16_bits(T_ number) { return code<7, 127>(wide(number)); }
OFFLOAD_DEVICE float float_of_bfloat16(unsigned short bits) { return __uint_as_float(unsigned(bits) << 16); }
} // namespace offload_float16

struct __nv_bfloat16_raw {
  unsigned short x;
};
struct alignas(2) __nv_bfloat16 {
  unsigned short bits;
  OFFLOAD_FLOAT16_CONVERSIONS(__nv_bfloat16, offload_float16::bfloat16_bits, offload_float16::bfloat16_bits,
                              offload_float16::float_of_bfloat16)
  OFFLOAD_MEMBER __nv_bfloat16(__nv_bfloat16_raw raw) : bits(raw.x) {}
  OFFLOAD_MEMBER operator __nv_bfloat16_raw() const { return __nv_bfloat16_raw{bits}; }
  static OFFLOAD_MEMBER __nv_bfloat16 of_bits(unsigned short bits) { return __nv_bfloat16(__nv_bfloat16_raw{bits}); }
};
struct alignas(4) __nv_bfloat162 {
  __nv_bfloat16 x, y;
  __nv_bfloat162() = default;
  OFFLOAD_MEMBER __nv_bfloat162(__nv_bfloat16 x_, __nv_bfloat16 y_) : x(x_), y(y_) {}
};
typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162 nv_bfloat162;

OFFLOAD_FLOAT16_FUNCTIONS(__nv_bfloat16, __nv_bfloat162)
OFFLOAD_FLOAT16_INTEGERS(__nv_bfloat16, bfloat16)

OFFLOAD_YIELDS float __bfloat162float(__nv_bfloat16 a) { return float(a); }
OFFLOAD_YIELDS __nv_bfloat16 __float2bfloat16(float a) { return __nv_bfloat16(a); }
OFFLOAD_YIELDS __nv_bfloat16 __float2bfloat16_rn(float a) { return __nv_bfloat16(a); }
OFFLOAD_YIELDS __nv_bfloat16 __double2bfloat16(double a) { return __nv_bfloat16(a); }
OFFLOAD_YIELDS unsigned short __bfloat16_as_ushort(__nv_bfloat16 a) { return a.bits; }
OFFLOAD_YIELDS short __bfloat16_as_short(__nv_bfloat16 a) { return short(a.bits); }
OFFLOAD_YIELDS __nv_bfloat16 __short_as_bfloat16(short a) { return __nv_bfloat16::of_bits((unsigned short)a); }
OFFLOAD_YIELDS __nv_bfloat16 __ushort_as_bfloat16(unsigned short a) { return __nv_bfloat16::of_bits(a); }
OFFLOAD_YIELDS __nv_bfloat162 __halves2bfloat162(__nv_bfloat16 a, __nv_bfloat16 b) { return __nv_bfloat162(a, b); }
OFFLOAD_YIELDS __nv_bfloat162 __bfloat162bfloat162(__nv_bfloat16 a) { return __nv_bfloat162(a, a); }
OFFLOAD_YIELDS __nv_bfloat162 make_bfloat162(__nv_bfloat16 a, __nv_bfloat16 b) { return __nv_bfloat162(a, b); }
OFFLOAD_YIELDS __nv_bfloat162 __float2bfloat162_rn(float a) { return __nv_bfloat162(__nv_bfloat16(a), __nv_bfloat16(a)); }
OFFLOAD_YIELDS __nv_bfloat162 __floats2bfloat162_rn(float a, float b) {
  return __nv_bfloat162(__nv_bfloat16(a), __nv_bfloat16(b));
}
OFFLOAD_YIELDS __nv_bfloat162 __float22bfloat162_rn(float2 a) { return __floats2bfloat162_rn(a.x, a.y); }
OFFLOAD_YIELDS float2 __bfloat1622float2(__nv_bfloat162 a) { return float2{float(a.x), float(a.y)}; }
OFFLOAD_YIELDS __nv_bfloat16 __low2bfloat16(__nv_bfloat162 a) { return a.x; }
OFFLOAD_YIELDS __nv_bfloat16 __high2bfloat16(__nv_bfloat162 a) { return a.y; }
OFFLOAD_YIELDS __nv_bfloat162 __low2bfloat162(__nv_bfloat162 a) { return __nv_bfloat162(a.x, a.x); }
OFFLOAD_YIELDS __nv_bfloat162 __high2bfloat162(__nv_bfloat162 a) { return __nv_bfloat162(a.y, a.y); }
OFFLOAD_YIELDS __nv_bfloat162 __lows2bfloat162(__nv_bfloat162 a, __nv_bfloat162 b) { return __nv_bfloat162(a.x, b.x); }
OFFLOAD_YIELDS __nv_bfloat162 __highs2bfloat162(__nv_bfloat162 a, __nv_bfloat162 b) { return __nv_bfloat162(a.y, b.y); }
OFFLOAD_YIELDS float __low2float(__nv_bfloat162 a) { return float(a.x); }
OFFLOAD_YIELDS float __high2float(__nv_bfloat162 a) { return float(a.y); }

#endif

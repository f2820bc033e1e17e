/* hip_bfloat16.h: HIP's older class for these numbers, under the name by which sources include it.  Its numbers are
 * compared as floats.
 */
#ifndef OFFLOAD_HIP_BFLOAT16_H
#define OFFLOAD_HIP_BFLOAT16_H

#include "hip_bf16.h"

struct hip_bfloat16 {
  unsigned short data;
  enum truncate_t { truncate };
  hip_bfloat16() = default;
  OFFLOAD_MEMBER explicit hip_bfloat16(float x) : data(offload_float16::bfloat16_bits(x)) {}
  OFFLOAD_MEMBER explicit hip_bfloat16(float x, truncate_t)
      : data(x != x ? 0x7fff : (unsigned short)(__float_as_uint(x) >> 16)) {}
  OFFLOAD_MEMBER operator float() const { return offload_float16::float_of_bfloat16(data); }
  static OFFLOAD_MEMBER hip_bfloat16 round_to_bfloat16(float x) { return hip_bfloat16(x); }
  static OFFLOAD_MEMBER hip_bfloat16 round_to_bfloat16(float x, truncate_t) { return hip_bfloat16(x, truncate); }
};
#define OFFLOAD_BFLOAT16_OPERATOR(op)                                                                                  \
  OFFLOAD_YIELDS hip_bfloat16 operator op(hip_bfloat16 a, hip_bfloat16 b) { return hip_bfloat16(float(a) op float(b)); } \
  OFFLOAD_YIELDS hip_bfloat16 &operator op##=(hip_bfloat16 &a, hip_bfloat16 b) { return a = a op b; }
OFFLOAD_BFLOAT16_OPERATOR(+)
OFFLOAD_BFLOAT16_OPERATOR(-)
OFFLOAD_BFLOAT16_OPERATOR(*)
OFFLOAD_BFLOAT16_OPERATOR(/)
#undef OFFLOAD_BFLOAT16_OPERATOR
OFFLOAD_YIELDS hip_bfloat16 operator-(hip_bfloat16 a) { return hip_bfloat16(-float(a)); }

#endif

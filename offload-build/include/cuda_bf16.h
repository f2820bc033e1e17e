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

OFFLOAD_FLOAT16_TYPES(__nv_bfloat16, __nv_bfloat162, offload_float16::bfloat16_bits, offload_float16::bfloat16_bits,
                      offload_float16::float_of_bfloat16)
typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162 nv_bfloat162;

OFFLOAD_FLOAT16_FUNCTIONS(__nv_bfloat16, __nv_bfloat162)
OFFLOAD_FLOAT16_CASTS(__nv_bfloat16, __nv_bfloat162, bfloat16)

#endif

/* hip_bf16.h: HIP's names for the types of cuda_bf16.h, for sources that include HIP's header of this name. */
#ifndef OFFLOAD_HIP_BF16_H
#define OFFLOAD_HIP_BF16_H

#include "offload/hip.h"

#include "cuda_bf16.h"

typedef __nv_bfloat16 __hip_bfloat16;
typedef __nv_bfloat162 __hip_bfloat162;
typedef __nv_bfloat16_raw __hip_bfloat16_raw;
typedef __nv_bfloat162_raw __hip_bfloat162_raw;

#endif

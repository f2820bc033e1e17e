/* hip_fp16.h: for sources that include HIP's header of this name; __half and __half2 are those of cuda_fp16.h. */
#include "offload/hip.h"

#include "cuda_fp16.h"

/* cuda_runtime_api.h: for sources that include CUDA's header of this name; what kernels have of it is in offload/kernel.h. */
#include "offload/kernel.h"

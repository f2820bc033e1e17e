/* sm_30_intrinsics.h: for sources that include CUDA's header of this name; offload/kernel.h provides the part for kernels. */
#include "offload/kernel.h"

/* cuda.h: for sources that include CUDA's header of this name; offload/kernel.h provides the part for kernels. */
#include "offload/kernel.h"
/* Sources test it before they use features that CUDA has had for a long time.  No newer features are here. */
#define CUDA_VERSION 12000

/* cuda.h: for sources that include CUDA's header of this name; what kernels have of it is in offload/kernel.h. */
#include "offload/kernel.h"
/* Sources ask for it before they use what CUDA has had for long; nothing newer is here. */
#define CUDA_VERSION 12000

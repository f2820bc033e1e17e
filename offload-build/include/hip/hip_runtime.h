/* hip_runtime.h: for sources that include HIP's header of this name; what kernels have of it is in offload/hip.h. */
#include "offload/hip.h"

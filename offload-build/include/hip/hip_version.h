/* hip_version.h: for sources that include HIP's header of this name; what kernels have of HIP is in offload/hip.h. */
#include "offload/hip.h"

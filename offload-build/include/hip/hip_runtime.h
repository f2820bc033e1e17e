/* hip_runtime.h: for sources that include HIP's header of this name; offload/hip.h provides the part for kernels. */
#include "offload/hip.h"

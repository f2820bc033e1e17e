/* device_launch_parameters.h: for sources that include CUDA's header of this name; threadIdx and similar variables are in
 * offload/kernel.h. */
#include "offload/kernel.h"

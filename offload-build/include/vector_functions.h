/* vector_functions.h: for sources that include CUDA's header of this name; offload/kernel.h provides the part for kernels.  A
 * header of this name in another folder of the build is used instead. */
#if __has_include_next(<vector_functions.h>)
#include_next <vector_functions.h>
#else
#include "offload/kernel.h"
#endif

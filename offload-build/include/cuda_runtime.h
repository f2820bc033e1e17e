/* cuda_runtime.h: for sources that include CUDA's header of this name; offload/kernel.h provides the part for kernels. */
#include "cuda_runtime_api.h"
/* Sources expect it from this header. */
#if __has_include(<type_traits>)
#include <type_traits>
#endif

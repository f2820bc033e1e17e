/* cuda_runtime.h: for sources that include CUDA's header of this name; what kernels have of it is in offload/kernel.h. */
#include "cuda_runtime_api.h"
/* Sources take it from here. */
#if __has_include(<type_traits>)
#include <type_traits>
#endif

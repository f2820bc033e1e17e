/* offload/cuda_std.h: the names of the C++ library in cuda::std, for the headers in cuda/std/, each of which includes the C++
 * library's header of its name. */
#ifndef OFFLOAD_CUDA_STD_H
#define OFFLOAD_CUDA_STD_H

namespace std {}
namespace cuda {
namespace std {
using namespace ::std;
}
} // namespace cuda

#endif

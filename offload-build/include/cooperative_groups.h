/* cooperative_groups.h: what to write in place of CUDA's header of this name, which offload/kernel.h does not have.  A
 * header of this name in another folder of the build is used instead. */
#if __has_include_next(<cooperative_groups.h>)
#include_next <cooperative_groups.h>
#else
#error "offload/kernel.h has no cooperative groups. Use __syncthreads() for a block, __syncwarp() and __shfl_*_sync for tiles of a warp, and two launches for a grid; or compile for NVIDIA with CUDA's headers: Build::compiler(Compiler::ClangCuda)"
namespace cooperative_groups {}
#endif

/* offload/kernel.h: the CUDA dialect without an SDK.
 *
 * offload-build includes this header before the first line of every .cu file that it compiles with clang or, for the
 * CPU image, with the C++ compiler.  One source then serves AMD (HIP language mode), NVIDIA (CUDA language mode) and the
 * CPU (C++17).  A source that includes it by hand is fine too.
 *
 * What is here: the keywords, threadIdx, blockIdx, blockDim, gridDim, warpSize, dim3, __syncthreads().
 * OFFLOAD_AMDGPU, OFFLOAD_NVPTX or OFFLOAD_CPU is defined.
 * A barrier in a kernel for the CPU does not compile: its threads run one after another there.
 * Of math, clang's builtins that need no library (__builtin_sqrtf, __builtin_fmaf) work on GPUs.
 */
#ifndef OFFLOAD_KERNEL_H
#define OFFLOAD_KERNEL_H

#if defined(__AMDGCN__)
#define OFFLOAD_AMDGPU 1
#elif defined(__NVPTX__)
#define OFFLOAD_NVPTX 1
#elif defined(__CUDA__) || defined(__HIP__)
#error "offload/kernel.h: the host half of a CUDA or HIP compilation needs the vendor's SDK"
#else
#define OFFLOAD_CPU 1
#endif

struct dim3 {
  unsigned x, y, z;
#if !defined(OFFLOAD_CPU)
  __attribute__((device))
#endif
  constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
};

#if !defined(OFFLOAD_CPU)
/* ---- GPUs: clang's HIP and CUDA language modes ---------------------------------------------------------------- */

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __host__ __attribute__((host))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __managed__ __attribute__((managed))
#if defined(OFFLOAD_AMDGPU)
/* Only the number of threads: AMD counts waves for each execution unit where CUDA counts blocks for each multiprocessor. */
#define __launch_bounds__(threads, ...) __attribute__((amdgpu_flat_work_group_size(1, threads)))
#else
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#endif
#define __forceinline__ inline __attribute__((always_inline))
/* __noinline__ is a keyword of clang's CUDA and HIP modes. */

/* threadIdx.x and its kin are reads of hardware registers that look like members: each field is a property whose getter
 * is the register. */
#define OFFLOAD_REGISTER(field, value)                                                                                 \
  __declspec(property(get = get_##field)) unsigned field;                                                              \
  static __attribute__((device, always_inline)) inline unsigned get_##field() { return value; }
#define OFFLOAD_REGISTERS(type, vx, vy, vz)                                                                            \
  struct type {                                                                                                        \
    OFFLOAD_REGISTER(x, vx)                                                                                            \
    OFFLOAD_REGISTER(y, vy)                                                                                            \
    OFFLOAD_REGISTER(z, vz)                                                                                            \
    __attribute__((device, always_inline)) inline operator dim3() const { return dim3(x, y, z); }                      \
  };

#if defined(OFFLOAD_AMDGPU)
OFFLOAD_REGISTERS(offload_thread_index, __builtin_amdgcn_workitem_id_x(), __builtin_amdgcn_workitem_id_y(),
                  __builtin_amdgcn_workitem_id_z())
OFFLOAD_REGISTERS(offload_block_index, __builtin_amdgcn_workgroup_id_x(), __builtin_amdgcn_workgroup_id_y(),
                  __builtin_amdgcn_workgroup_id_z())
OFFLOAD_REGISTERS(offload_block_size, __builtin_amdgcn_workgroup_size_x(), __builtin_amdgcn_workgroup_size_y(),
                  __builtin_amdgcn_workgroup_size_z())
/* The dispatch packet counts work items, CUDA counts blocks. */
OFFLOAD_REGISTERS(offload_grid_size, __builtin_amdgcn_grid_size_x() / __builtin_amdgcn_workgroup_size_x(),
                  __builtin_amdgcn_grid_size_y() / __builtin_amdgcn_workgroup_size_y(),
                  __builtin_amdgcn_grid_size_z() / __builtin_amdgcn_workgroup_size_z())
struct offload_warp_size {
  __attribute__((device, always_inline)) inline operator int() const {
#if __has_builtin(__builtin_amdgcn_wavefrontsize)
    return __builtin_amdgcn_wavefrontsize();
#else
    return __AMDGCN_WAVEFRONT_SIZE; /* clang 16; 22 no longer defines it */
#endif
  }
};
extern const __attribute__((device, weak)) offload_warp_size warpSize;
static __attribute__((device, always_inline)) inline void __syncthreads() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
#else
OFFLOAD_REGISTERS(offload_thread_index, __nvvm_read_ptx_sreg_tid_x(), __nvvm_read_ptx_sreg_tid_y(),
                  __nvvm_read_ptx_sreg_tid_z())
OFFLOAD_REGISTERS(offload_block_index, __nvvm_read_ptx_sreg_ctaid_x(), __nvvm_read_ptx_sreg_ctaid_y(),
                  __nvvm_read_ptx_sreg_ctaid_z())
OFFLOAD_REGISTERS(offload_block_size, __nvvm_read_ptx_sreg_ntid_x(), __nvvm_read_ptx_sreg_ntid_y(),
                  __nvvm_read_ptx_sreg_ntid_z())
OFFLOAD_REGISTERS(offload_grid_size, __nvvm_read_ptx_sreg_nctaid_x(), __nvvm_read_ptx_sreg_nctaid_y(),
                  __nvvm_read_ptx_sreg_nctaid_z())
constexpr int warpSize = 32;
/* __syncthreads() is a builtin of clang's CUDA mode.  The heap's functions are the device's own; headers of the standard
 * library look for them. */
extern "C" __attribute__((device)) void *malloc(__SIZE_TYPE__);
extern "C" __attribute__((device)) void free(void *);
#endif

/* Never defined: only their properties are used, so no reference to them is left. */
extern const __attribute__((device, weak)) offload_thread_index threadIdx;
extern const __attribute__((device, weak)) offload_block_index blockIdx;
extern const __attribute__((device, weak)) offload_block_size blockDim;
extern const __attribute__((device, weak)) offload_grid_size gridDim;

#undef OFFLOAD_REGISTERS
#undef OFFLOAD_REGISTER

#else
/* ---- the CPU: a kernel is a function that offload_cpu_launch calls once for each thread of the grid ------------- */

#define __global__ __attribute__((visibility("default")))
#define __device__
#define __host__
#define __constant__
#define __shared__ static thread_local
#define __launch_bounds__(...)
#define __forceinline__ inline __attribute__((always_inline))
/* Headers of the standard library say __attribute__((__noinline__)), so it can be nothing else here. */
#define __noinline__
constexpr int warpSize = 1;

extern "C" void offload_no_barrier()
    __attribute__((error("a kernel with a barrier has no CPU image: its threads run one after another there; "
                         "leave the target cpu out, or give it another kernel with #if defined(OFFLOAD_CPU)")));
#define __syncthreads() offload_no_barrier()

inline thread_local dim3 threadIdx, blockIdx, blockDim, gridDim;

/* Calls thread(context) once for each thread of a grid of grid[0] x grid[1] x grid[2] blocks of
 * block[0] x block[1] x block[2] threads, with the indices set.  The caller's `thread` calls the kernel: it alone knows
 * the arguments and their types. */
extern "C" __attribute__((weak, visibility("default"))) void
offload_cpu_launch(const unsigned *grid, const unsigned *block, void (*thread)(void *), void *context) {
  gridDim = dim3(grid[0], grid[1], grid[2]);
  blockDim = dim3(block[0], block[1], block[2]);
  for (blockIdx.z = 0; blockIdx.z < grid[2]; ++blockIdx.z)
    for (blockIdx.y = 0; blockIdx.y < grid[1]; ++blockIdx.y)
      for (blockIdx.x = 0; blockIdx.x < grid[0]; ++blockIdx.x)
        for (threadIdx.z = 0; threadIdx.z < block[2]; ++threadIdx.z)
          for (threadIdx.y = 0; threadIdx.y < block[1]; ++threadIdx.y)
            for (threadIdx.x = 0; threadIdx.x < block[0]; ++threadIdx.x)
              thread(context);
}
#endif

#endif

/* offload/gpu.h: keywords, indices and barriers on GPUs, in clang's HIP and CUDA language modes.  Part of
 * offload/kernel.h.
 */
#ifndef OFFLOAD_GPU_H
#define OFFLOAD_GPU_H

#if defined(OFFLOAD_SPIRV)
#define __global__ __attribute__((global, intel_reqd_sub_group_size(32)))
#else
#define __global__ __attribute__((global))
#endif
#define __device__ __attribute__((device))
#define __host__ __attribute__((host))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#if defined(OFFLOAD_AMDGPU)
#define __managed__ __attribute__((managed))
#else
#define __managed__ OFFLOAD_NO_MANAGED __attribute__((device))
#endif
/* Functions, since an argument may be a template of several arguments. */
namespace offload_bounds {
constexpr int threads(int threads, int = 0, int = 0) { return threads; }
constexpr int blocks(int, int blocks = 0, int = 0) { return blocks; }
constexpr int of_cluster(int, int = 0, int blocks = 0) { return blocks; }
} // namespace offload_bounds
#if defined(OFFLOAD_AMDGPU)
/* Only the number of threads: CUDA counts blocks for each multiprocessor, but AMD counts waves for each execution unit. */
#define __launch_bounds__(...)                                                                                         \
  __attribute__((amdgpu_flat_work_group_size(1, offload_bounds::threads(__VA_ARGS__))))
#elif defined(OFFLOAD_NVPTX) && __CUDA_ARCH__ >= 900 && __clang_major__ >= 19
#define __launch_bounds__(...)                                                                                         \
  __attribute__((launch_bounds(offload_bounds::threads(__VA_ARGS__), offload_bounds::blocks(__VA_ARGS__),              \
                               offload_bounds::of_cluster(__VA_ARGS__))))
#else
#define __launch_bounds__(...)                                                                                         \
  __attribute__((launch_bounds(offload_bounds::threads(__VA_ARGS__), offload_bounds::blocks(__VA_ARGS__))))
#endif
/* Instructions of TMA need the address of the parameter itself, not that of a copy. */
#if defined(OFFLOAD_NVPTX) && __CUDA_ARCH__ >= 700 && __has_attribute(grid_constant)
#define __grid_constant__ __attribute__((grid_constant))
#else
#define __grid_constant__
#endif
/* Only sources for NVIDIA's GPUs can use clusters, from sm_90 on.  There, clang 22 silently drops its attribute. */
#if defined(OFFLOAD_NVPTX) && __CUDA_ARCH__ >= 900
#define __cluster_dims__(...)                                                                                          \
  _Pragma("GCC error \"offload/kernel.h has no __cluster_dims__ from sm_90 on: use Build::compiler(Compiler::Nvcc)\"")
#else
#define __cluster_dims__(...)
#endif
#define __forceinline__ inline __attribute__((always_inline))
/* __noinline__ is a keyword of clang's CUDA and HIP modes. */

/* Each source gets its own copies of these functions, and no code for those that it does not call. */
#define OFFLOAD_DEVICE static __attribute__((device, always_inline)) inline
#define OFFLOAD_HOST_DEVICE static __attribute__((host, device, always_inline)) inline

/* Each vendor's compiler has these functions for devices; the C library has them only for the host. */
OFFLOAD_DEVICE void *memcpy(void *to, const void *from, size_t size) { return __builtin_memcpy(to, from, size); }
OFFLOAD_DEVICE void *memset(void *to, int byte, size_t size) { return __builtin_memset(to, byte, size); }
/* Functions of the host may call these, printf and exit without an include. */
#define OFFLOAD_HOST template <decltype(nullptr) = nullptr> __attribute__((host))
OFFLOAD_HOST void *memcpy(void *to, const void *from, size_t size) { return __builtin_memcpy(to, from, size); }
OFFLOAD_HOST void *memset(void *to, int byte, size_t size) { return __builtin_memset(to, byte, size); }
OFFLOAD_HOST void exit(int);
template <typename... T_> __attribute__((host)) int printf(const char *, T_...);

#if defined(OFFLOAD_AMDGPU) && defined(__GFX11__)
/* A separate function: on these GPUs, the instruction needs several steps, and clang 22 crashes if a call follows. */
static __attribute__((host, device, noinline, noreturn)) inline void offload_trap() { __builtin_trap(); }
#else
#define offload_trap() __builtin_trap()
#endif
OFFLOAD_HOST_DEVICE void __trap() { offload_trap(); }

/* NVIDIA's driver prints.  For AMD's GPUs, clang calls functions of ROCm's libraries, which are not in this kit's images. */
#if !defined(OFFLOAD_NVPTX)
template <typename... T_>
__attribute__((device, diagnose_if(true, "printf prints nothing here: only NVIDIA's GPUs and the CPU print without ROCm's headers",
                                   "warning"))) int
printf(const char *, T_...) {
  return 0;
}
#else
extern "C" __attribute__((device)) int printf(const char *, ...);
#endif

#if !defined(OFFLOAD_NVPTX)
/* The operators of <new>, for devices.  Nothing is ever allocated there, so destructors have nothing to delete. */
#define OFFLOAD_HEAP                                                                                                   \
  __attribute__((device, unavailable("only NVIDIA's GPUs and the CPU have a heap here: allocate memory on the host, "  \
                                     "and pass it to the kernel")))
extern "C" OFFLOAD_HEAP void *malloc(size_t);
extern "C" OFFLOAD_HEAP void free(void *);
/* Since C++20, constexpr functions of the C++ library call these, also in host functions.  There, the linker names the kernel
 * that calls them. */
#if __cplusplus < 202002L
OFFLOAD_HEAP void *operator new(size_t);
OFFLOAD_HEAP void *operator new[](size_t);
#endif
#undef OFFLOAD_HEAP
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Winline-new-delete"
__attribute__((device)) inline void *operator new(size_t, void *place) noexcept { return place; }
__attribute__((device)) inline void *operator new[](size_t, void *place) noexcept { return place; }
__attribute__((device)) inline void operator delete(void *) noexcept {}
__attribute__((device)) inline void operator delete[](void *) noexcept {}
__attribute__((device)) inline void operator delete(void *, size_t) noexcept {}
__attribute__((device)) inline void operator delete[](void *, size_t) noexcept {}
__attribute__((device)) inline void operator delete(void *, void *) noexcept {}
__attribute__((device)) inline void operator delete[](void *, void *) noexcept {}
#pragma clang diagnostic pop
#endif

/* A false condition stops the kernel without a message.  This works with and without <cassert>. */
extern "C" {
static __attribute__((device)) inline void __assert_fail(const char *, const char *, unsigned, const char *) {
  offload_trap();
}
}
#if !defined(assert)
#if defined(NDEBUG)
#define assert(condition) ((void)0)
#else
#define assert(condition) ((condition) ? (void)0 : offload_trap())
#endif
#endif

#define OFFLOAD_DYNAMIC_SHARED(type, name) extern __shared__ type name[]

/* threadIdx.x and similar fields look like members, but read hardware registers: each field is a property whose getter reads
 * the register. */
#define OFFLOAD_REGISTER(field, value)                                                                                 \
  __declspec(property(get = get_##field)) unsigned field;                                                              \
  static __attribute__((device, always_inline)) inline unsigned get_##field() { return value; }
#define OFFLOAD_REGISTERS(type, vx, vy, vz)                                                                            \
  struct type {                                                                                                        \
    OFFLOAD_REGISTER(x, vx)                                                                                            \
    OFFLOAD_REGISTER(y, vy)                                                                                            \
    OFFLOAD_REGISTER(z, vz)                                                                                            \
    __attribute__((device, always_inline)) inline operator dim3() const { return dim3(x, y, z); }                      \
    __attribute__((device, always_inline)) inline operator uint3() const;                                              \
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
OFFLOAD_DEVICE unsigned offload_lane() { return __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0)); }

OFFLOAD_DEVICE void __syncthreads() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

/* Votes among the active lanes. */
OFFLOAD_DEVICE offload_lanes offload_ballot(bool condition) { return __builtin_amdgcn_uicmp(condition, 0, 33 /* not equal */); }

OFFLOAD_DEVICE void offload_sync_lanes() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "wavefront");
  __builtin_amdgcn_wave_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "wavefront");
}
#elif defined(OFFLOAD_SPIRV)
#include "spirv.h"
#else
OFFLOAD_REGISTERS(offload_thread_index, __nvvm_read_ptx_sreg_tid_x(), __nvvm_read_ptx_sreg_tid_y(),
                  __nvvm_read_ptx_sreg_tid_z())
OFFLOAD_REGISTERS(offload_block_index, __nvvm_read_ptx_sreg_ctaid_x(), __nvvm_read_ptx_sreg_ctaid_y(),
                  __nvvm_read_ptx_sreg_ctaid_z())
OFFLOAD_REGISTERS(offload_block_size, __nvvm_read_ptx_sreg_ntid_x(), __nvvm_read_ptx_sreg_ntid_y(),
                  __nvvm_read_ptx_sreg_ntid_z())
OFFLOAD_REGISTERS(offload_grid_size, __nvvm_read_ptx_sreg_nctaid_x(), __nvvm_read_ptx_sreg_nctaid_y(),
                  __nvvm_read_ptx_sreg_nctaid_z())
OFFLOAD_DEVICE unsigned offload_lane() { return __nvvm_read_ptx_sreg_laneid(); }

/* __syncthreads() is a builtin of clang's CUDA mode. */
OFFLOAD_DEVICE int __syncthreads_count(int condition) { return __nvvm_bar0_popc(condition); }
OFFLOAD_DEVICE int __syncthreads_and(int condition) { return __nvvm_bar0_and(condition); }
OFFLOAD_DEVICE int __syncthreads_or(int condition) { return __nvvm_bar0_or(condition); }

/* The device itself has a heap.  Headers of the standard library need these declarations. */
extern "C" __attribute__((device)) void *malloc(__SIZE_TYPE__);
extern "C" __attribute__((device)) void free(void *);
#endif

#if !defined(OFFLOAD_NVPTX)
/* The hardware's barrier does not count: each wave adds its votes to a word that the block shares.  Every thread clears the
 * word, since any thread may have returned. */
static __attribute__((device)) inline int __syncthreads_count(int condition) {
  __shared__ unsigned votes;
  votes = 0;
  __syncthreads();
  offload_lanes holds = offload_ballot(condition != 0), active = offload_ballot(true);
  if (offload_lane() == unsigned(__builtin_ctzll(active)))
    __hip_atomic_fetch_add((__attribute__((address_space(3))) unsigned *)&votes, unsigned(__builtin_popcountll(holds)),
                           __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
  __syncthreads();
  unsigned all = votes;
  __syncthreads();
  return int(all);
}
OFFLOAD_DEVICE int __syncthreads_or(int condition) { return __syncthreads_count(condition) != 0; }
OFFLOAD_DEVICE int __syncthreads_and(int condition) { return __syncthreads_count(!condition) == 0; }
#endif

/* Never defined: kernels use only the properties, so no reference to the variables is left. */
extern const __attribute__((device, weak)) offload_thread_index threadIdx;
extern const __attribute__((device, weak)) offload_block_index blockIdx;
extern const __attribute__((device, weak)) offload_block_size blockDim;
extern const __attribute__((device, weak)) offload_grid_size gridDim;

#undef OFFLOAD_REGISTERS
#undef OFFLOAD_REGISTER

#endif

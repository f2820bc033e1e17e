/* offload/hip.h: the names that HIP has beside CUDA's.  offload-build includes this header before the first line of every
 * .hip file; the headers in hip/ include it, too.
 *
 *   __shfl, __shfl_up, __shfl_down, __shfl_xor, __ballot, __any, __all: among the lanes that call; __lane_id
 *   hipThreadIdx_x and kin, HIP_DYNAMIC_SHARED, unsafeAtomicAdd, safeAtomicAdd
 *   __HIPCC__; __HIP_PLATFORM_AMD__ or __HIP_PLATFORM_NVIDIA__; __AMDGCN_WAVEFRONT_SIZE on AMD's GPUs
 */
#ifndef OFFLOAD_HIP_H
#define OFFLOAD_HIP_H

#include "kernel.h"

/* As hipcc defines them for each vendor's GPUs.  Elsewhere neither platform is defined: sources test for one of them, and the
 * other code is for 32 lanes, without instructions of a vendor. */
#if !defined(__HIPCC__)
#define __HIPCC__ 1
#endif
#if !defined(__HIP_PLATFORM_AMD__) && !defined(__HIP_PLATFORM_NVIDIA__)
#if defined(OFFLOAD_AMDGPU)
#define __HIP_PLATFORM_AMD__ 1
#elif defined(OFFLOAD_NVPTX)
#define __HIP_PLATFORM_NVIDIA__ 1
#endif
#endif
#if defined(OFFLOAD_NVPTX) && !defined(__HIP_DEVICE_COMPILE__)
#define __HIP_DEVICE_COMPILE__ 1
#endif
/* clang 22 no longer defines these. */
#if defined(OFFLOAD_AMDGPU) && !defined(__AMDGCN_WAVEFRONT_SIZE)
#if defined(OFFLOAD_64_LANES)
#define __AMDGCN_WAVEFRONT_SIZE 64
#else
#define __AMDGCN_WAVEFRONT_SIZE 32
#endif
#define __AMDGCN_WAVEFRONT_SIZE__ __AMDGCN_WAVEFRONT_SIZE
#endif

#define hipThreadIdx_x (threadIdx.x)
#define hipThreadIdx_y (threadIdx.y)
#define hipThreadIdx_z (threadIdx.z)
#define hipBlockIdx_x (blockIdx.x)
#define hipBlockIdx_y (blockIdx.y)
#define hipBlockIdx_z (blockIdx.z)
#define hipBlockDim_x (blockDim.x)
#define hipBlockDim_y (blockDim.y)
#define hipBlockDim_z (blockDim.z)
#define hipGridDim_x (gridDim.x)
#define hipGridDim_y (gridDim.y)
#define hipGridDim_z (gridDim.z)

/* Sources omit the semicolon after it. */
#define HIP_DYNAMIC_SHARED(type, name) OFFLOAD_DYNAMIC_SHARED(type, name);
#define HIP_DYNAMIC_SHARED_ATTRIBUTE

OFFLOAD_YIELDS unsigned __lane_id() { return offload_lane(); }

/* On the CPU, lanes that call at different places in the source are not together, as for __activemask. */
#if defined(OFFLOAD_CPU)
#define OFFLOAD_AND_CALLER                                                                                             \
  , const char *file = __builtin_FILE(), unsigned line = __builtin_LINE() OFFLOAD_AND_PLACE
#define OFFLOAD_CALLERS __activemask(file, line OFFLOAD_ITS_PLACE)
#else
#define OFFLOAD_AND_CALLER
#define OFFLOAD_CALLERS __activemask()
#endif
OFFLOAD_YIELDS offload_lanes __ballot(int condition OFFLOAD_AND_CALLER) {
  return __ballot_sync(OFFLOAD_CALLERS, condition OFFLOAD_ITS_PLACE);
}
OFFLOAD_YIELDS int __any(int condition OFFLOAD_AND_CALLER) {
  return __any_sync(OFFLOAD_CALLERS, condition OFFLOAD_ITS_PLACE);
}
OFFLOAD_YIELDS int __all(int condition OFFLOAD_AND_CALLER) {
  return __all_sync(OFFLOAD_CALLERS, condition OFFLOAD_ITS_PLACE);
}
#define OFFLOAD_SHUFFLE(name, type)                                                                                    \
  template <typename T> OFFLOAD_DEVICE T name(T value, type lane, int width = warpSize OFFLOAD_AND_CALLER) {           \
    return name##_sync(OFFLOAD_CALLERS, value, lane, width OFFLOAD_ITS_PLACE);                                         \
  }
OFFLOAD_SHUFFLE(__shfl, int)
OFFLOAD_SHUFFLE(__shfl_up, unsigned)
OFFLOAD_SHUFFLE(__shfl_down, unsigned)
OFFLOAD_SHUFFLE(__shfl_xor, int)
#undef OFFLOAD_SHUFFLE
#undef OFFLOAD_AND_CALLER
#undef OFFLOAD_CALLERS

#define OFFLOAD_SUM(type)                                                                                              \
  OFFLOAD_YIELDS type safeAtomicAdd(type *address, type value) { return atomicAdd(address, value); }                   \
  OFFLOAD_YIELDS type unsafeAtomicAdd(type *address, type value) { return OFFLOAD_UNSAFE(address, value); }
#define OFFLOAD_UNSAFE(address, value) atomicAdd(address, value)
#if defined(OFFLOAD_AMDGPU)
#if __has_extension(clang_atomic_attributes)
/* By an instruction, which loses additions to memory that the host shares page by page. */
#undef OFFLOAD_UNSAFE
#define OFFLOAD_UNSAFE(address, value)                                                                                 \
  [&] {                                                                                                                \
    [[clang::atomic(no_remote_memory, no_fine_grained_memory, ignore_denormal_mode)]] {                                \
      return __hip_atomic_fetch_add(address, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);                       \
    }                                                                                                                  \
  }()
#endif
#endif
OFFLOAD_SUM(float)
OFFLOAD_SUM(double)
#undef OFFLOAD_SUM
#undef OFFLOAD_UNSAFE

#endif

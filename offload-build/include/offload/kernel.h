/* offload/kernel.h: the CUDA dialect without an SDK.
 *
 * offload-build includes this header before the first line of every .cu file that it compiles with clang or, for the CPU image,
 * with the C++ compiler.  One source then serves AMD (HIP language mode), NVIDIA (CUDA language mode) and the CPU (C++17).  A
 * source may also include it itself.
 *
 *   names.h    types and constants, std::min and std::max
 *   gpu.h      keywords, threadIdx and its kin, barriers: AMD and NVIDIA, and in spirv.h any GPU with SPIR-V
 *   cpu.h      the same on the CPU; how blocks run is in schedule.h and fibers.h
 *   warp.h     shuffles and votes among the lanes of a warp
 *   atomics.h  atomic functions and fences
 *   builtin_atomics.h  __atomic_fetch_add and the compiler's other atomic functions: NVIDIA and SPIR-V (nvptx_atomics.h,
 *              spirv_atomics.h)
 *   system_atomics.h  atomicAdd_system and kin on GPUs
 *   bits.h     integers: bits, min, max, and numbers read as other types
 *   vectors.h  float4 and its kin
 *   math.h     floating point: on the CPU the C library's functions, on GPUs our own (math_exp.h, math_angle.h, math_base.h)
 *   intrinsics.h  functions that are named after instructions: __fmul_rn, __float2int_rn, __byte_perm
 *   directed.h  __fadd_rz, __int2float_rd and their kin
 *
 * OFFLOAD_AMDGPU, OFFLOAD_NVPTX, OFFLOAD_SPIRV or OFFLOAD_CPU is defined.
 */
#ifndef OFFLOAD_KERNEL_H
#define OFFLOAD_KERNEL_H

#if defined(__AMDGCN__)
#define OFFLOAD_AMDGPU 1
#elif defined(__NVPTX__)
#define OFFLOAD_NVPTX 1
#elif defined(__SPIRV__)
#define OFFLOAD_SPIRV 1
#elif defined(__CUDA__) || defined(__HIP__)
#error "offload/kernel.h: the host half of a CUDA or HIP compilation needs the vendor's SDK"
#else
#define OFFLOAD_CPU 1
#endif

/* CUDA sources do not include a header for these.  The number is CUDA_VERSION in cuda.h. */
#define CUDART_VERSION 12000
typedef decltype(sizeof 0) size_t;

struct uint3;

/* clang compiles constexpr functions for both host and device.  threadIdx converts to both types: `dim3(threadIdx)` would be
 * ambiguous if the constructor from uint3 were not a template. */
struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
  template <decltype(nullptr) = nullptr> constexpr dim3(const uint3 &from);
  constexpr operator uint3() const;
};

/* The warps of AMD's gfx9 have 64 lanes, and so have the CPU's if OFFLOAD_CPU_LANES is 64.  clang 22 no longer defines the
 * macro with AMD's number; in clang 15, __has_builtin does not depend on the GPU. */
#if defined(OFFLOAD_AMDGPU) && __clang_major__ < 16
#if __AMDGCN_WAVEFRONT_SIZE == 64
#define OFFLOAD_64_LANES 1
#endif
#elif defined(OFFLOAD_AMDGPU)
#if !__has_builtin(__builtin_amdgcn_ballot_w32)
#define OFFLOAD_64_LANES 1
#endif
#elif defined(OFFLOAD_CPU) && defined(OFFLOAD_CPU_LANES)
#if OFFLOAD_CPU_LANES == 64
#define OFFLOAD_64_LANES 1
#endif
#endif
#if defined(OFFLOAD_64_LANES)
constexpr int warpSize = 64;
#else
constexpr int warpSize = 32;
#endif

/* A bit for each lane. */
#if defined(OFFLOAD_64_LANES) || defined(OFFLOAD_AMDGPU)
typedef unsigned long long offload_lanes;
#else
typedef unsigned offload_lanes;
#endif

/* The functions in which the lanes of a warp meet. */
enum class offload_warp_function : unsigned char {
  activemask,
  syncwarp,
  ballot,
  any,
  all,
  shfl,
  shfl_up,
  shfl_down,
  shfl_xor,
};

/* Keywords that are the same for all targets.  Limits of registers are meant for one GPU, so they are ignored. */
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __builtin_align__(bytes) __attribute__((aligned(bytes)))
#define __nv_pure__ __attribute__((pure))
#define __no_return__ __attribute__((noreturn))
#define __inline_hint__
#define __maxnreg__(registers)
#define __local_maxnreg__(registers)
#define __device_builtin__
#define __cudart_builtin__
#define OFFLOAD_NO_MANAGED _Pragma("GCC error \"offload/kernel.h has __managed__ for AMD alone: write __device__\"")
#define __block_size__(...)                                                                                            \
  _Pragma("GCC error \"offload/kernel.h has no __block_size__: use __launch_bounds__, and launch blocks of this size\"")

#if defined(OFFLOAD_CPU)
#include "cpu.h"
#else
#include "gpu.h"
#endif

/* Precedes a CUDA function that a source may define itself: the source's function is preferred, since this one is a template.
 * The template's parameter does not fit `max<float>(a, b)`, a call of a source's own template.  Functions of the host in the
 * same source may call these functions, as with nvcc. */
#define OFFLOAD_YIELDS template <decltype(nullptr) = nullptr> OFFLOAD_HOST_DEVICE

#include "names.h"

#include "bits.h"

#include "spirv_atomics.h"
#include "atomics.h"
#include "nvptx_atomics.h"
#if !defined(OFFLOAD_CPU)
#include "system_atomics.h"
#endif
#include "math.h"
#include "vectors.h"
#include "warp.h"

#include "intrinsics.h"

#include "directed.h"

/* Inline PTX in a source for CUDA is an error only if a kernel uses it.  Clang always refuses its constraints in device
 * functions, but in functions for host and device only if they are called.  `asm volatile` must stay one statement, also
 * between a condition and `else`. */
#if defined(OFFLOAD_AMDGPU) || defined(OFFLOAD_SPIRV)
#define OFFLOAD_ASM(...) ([&] __attribute__((host, device)) { __asm__ __VA_ARGS__; return 0; }())
#define asm(...) OFFLOAD_ASM((__VA_ARGS__))
#define volatile(...) volatile("" ::"s"(OFFLOAD_ASM(volatile(__VA_ARGS__))))
#endif

#endif

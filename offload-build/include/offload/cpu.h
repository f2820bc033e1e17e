/* offload/cpu.h: the CUDA dialect as C++17 for the CPU.  Part of offload/kernel.h.
 *
 * A kernel is a function that offload/entry.h calls once for each thread of a grid, as offload/schedule.h tells it.  In a
 * checked build (OFFLOAD_CPU_CHECK) the latter is in another source of this folder, checks.cpp, which no sanitizer
 * instruments.
 */
#ifndef OFFLOAD_CPU_H
#define OFFLOAD_CPU_H

/* CUDA sources do not include headers for assert, memcpy, printf and the constants.  These declare two functions of old
 * whose names kernels have. */
#define index offload_not_index
#define rindex offload_not_rindex
#include <assert.h>
#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#undef index
#undef rindex

#if defined(OFFLOAD_DESCRIBE)
/* A compiler reads this source for its kernels, and the image is not compiled this way.  The section marks kernels in the
 * LLVM IR; a name of this form is valid for every format of object files.  g++ has no section for both functions and
 * instances of templates: an alignment that nothing else has marks kernels. */
#if defined(__clang__)
#define __global__ __attribute__((used, section("__TEXT,offload")))
/* An annotated variable is in a list of the IR, functions as well. */
#define __constant__ __attribute__((annotate("offload")))
#else
#define __global__ __attribute__((used, aligned(8192)))
#define __constant__
#endif
#define OFFLOAD_CPU_ENTRY inline
#if defined(OFFLOAD_DESCRIBE_LAMBDAS)
#define __device__
#else
#define __device__ __constant__
#endif
#elif defined(_WIN32)
/* A library exports what is marked, and nothing else.  Sources of one module each define the functions that launch, and
 * Windows has no weak definitions: inline functions are merged, and are there although nothing calls them if they are
 * exported. */
#define __global__ __attribute__((dllexport))
#define OFFLOAD_CPU_ENTRY inline __attribute__((dllexport))
#else
#define __global__ __attribute__((visibility("default")))
#define OFFLOAD_CPU_ENTRY __attribute__((weak, visibility("default")))
#endif
#if !defined(OFFLOAD_DESCRIBE)
#define __device__
#define __constant__
#endif
#define __host__
#if !defined(OFFLOAD_CPU_CHECK)
/* In a function that is static too.  Launches on several threads of the operating system do not share it. */
#define __shared__ thread_local
#endif
#define __launch_bounds__(...)
#define __cluster_dims__(...)
#define __grid_constant__
#define __managed__ OFFLOAD_NO_MANAGED __device__
#if !defined(__clang__)
#define __builtin_assume(condition) ((condition) ? (void)0 : __builtin_unreachable())
#endif
#define __assume(condition) __builtin_assume(condition)
/* clang knows AMD's attributes, and has them for no other target. */
#define amdgpu_flat_work_group_size(...)
#define amdgpu_waves_per_eu(...)
#define amdgpu_num_sgpr(...)
#define amdgpu_num_vgpr(...)
#define __forceinline__ inline __attribute__((always_inline))
/* Headers of the standard library say __attribute__((__noinline__)), so it can be nothing else here. */
#define __noinline__

#define OFFLOAD_DEVICE inline
#define OFFLOAD_HOST_DEVICE inline

#if defined(OFFLOAD_CPU_CHECK)
#include "checked.h"
#else
/* Where a call is in the source, which checked builds want to know. */
#define OFFLOAD_PLACE
#define OFFLOAD_AND_PLACE
#define OFFLOAD_ITS_PLACE
/* State of a thread of the operating system that runs blocks.  g++ finds all of it by one call of __tls_get_addr if the
 * attribute, not an option alone, hides it. */
#if defined(__ELF__)
#define OFFLOAD_CPU_OWN __attribute__((visibility("hidden"))) inline thread_local
#else
#define OFFLOAD_CPU_OWN inline thread_local
#endif
/* A function that kernels call. */
#define OFFLOAD_CPU_CALLED inline
#include "schedule.h"
#endif
#include "entry.h"

/* What `extern __shared__ float tile[];` declares has no definition in C++.  offload-build defines it when it links ELF
 * objects; this works everywhere, and in two types. */
#define OFFLOAD_DYNAMIC_SHARED(type, name) type *const name = static_cast<type *>(offload_cpu::dynamic_shared())

/* Ends the launch, and with it the program. */
#if defined(OFFLOAD_CPU_CHECK)
[[noreturn]] inline void __trap(OFFLOAD_PLACE) { offload_cpu::trap("__trap", at); }
#else
[[noreturn]] inline void __trap(const char *file = __builtin_FILE(), unsigned line = __builtin_LINE()) {
  offload_cpu::trap(file, line);
}
#endif

#if defined(__clang__) && defined(__x86_64__) && !defined(OFFLOAD_DESCRIBE)
/* clang calls it for each parameter of this type.  Before version 13, GCC's library does not have it. */
extern "C" __attribute__((weak, used, visibility("hidden"))) __bf16 __truncsfbf2(float number) {
  unsigned bits = __builtin_bit_cast(unsigned, number);
  bits = number != number ? bits | 0x400000 : bits + 0x7fff + (bits >> 16 & 1);
  return __builtin_bit_cast(__bf16, uint16_t(bits >> 16));
}
#endif

#if defined(OFFLOAD_CPU_REGIONS)
inline void __syncthreads() { offload_cpu::offload_cpu_wait(0); }
#elif OFFLOAD_CPU_FIBERS
inline void __syncthreads(OFFLOAD_PLACE) { offload_cpu::barrier(false OFFLOAD_ITS_PLACE); }
#else
#define __syncthreads() ((void)offload_cpu::barrier(false))
#endif
inline int __syncthreads_count(int condition OFFLOAD_AND_PLACE) {
  return int(offload_cpu::barrier(condition != 0 OFFLOAD_ITS_PLACE));
}
inline int __syncthreads_or(int condition OFFLOAD_AND_PLACE) {
  return offload_cpu::barrier(condition != 0 OFFLOAD_ITS_PLACE) != 0;
}
inline int __syncthreads_and(int condition OFFLOAD_AND_PLACE) {
  return offload_cpu::barrier(condition == 0 OFFLOAD_ITS_PLACE) == 0;
}

#endif

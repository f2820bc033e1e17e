/* offload/cpu.h: the CUDA dialect as C++17 for the CPU.  Part of offload/kernel.h.
 *
 * A kernel is a function.  offload/schedule.h decides which threads run, and offload/entry.h calls the function for each
 * of them.  In a checked build (OFFLOAD_CPU_CHECK), checks.cpp contains the scheduler, so that no sanitizer instruments
 * it.
 */
#ifndef OFFLOAD_CPU_H
#define OFFLOAD_CPU_H

/* CUDA sources use assert, memcpy, printf, constants and traits of types without including these headers.  The headers also
 * declare two old functions, whose names kernels use. */
#define index offload_not_index
#define rindex offload_not_rindex
#include <assert.h>
#include <limits.h>
#include <limits>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <type_traits>
/* In libstdc++, half of the time for <math.h> is for C++17's special functions.  Only sources with <cmath> get them; see the
 * header cmath. */
#pragma push_macro("_GLIBCXX_USE_STD_SPEC_FUNCS")
#if !__STDCPP_WANT_MATH_SPEC_FUNCS__ /* Else <math.h> declares them all. */
#undef _GLIBCXX_USE_STD_SPEC_FUNCS
#endif
#include <math.h>
#pragma pop_macro("_GLIBCXX_USE_STD_SPEC_FUNCS")
#if _GLIBCXX_USE_STD_SPEC_FUNCS && !defined(OFFLOAD_CMATH) /* The library's own <cmath> comes before ours. */
#include <bits/specfun.h>
#endif
#undef index
#undef rindex

#if defined(OFFLOAD_DESCRIBE)
/* This compilation only finds the kernels; it makes no image.  The section marks kernels in the LLVM IR, and its name is valid
 * for every format of object files.  g++ cannot put functions and instances of templates into the same section: there, an
 * alignment that nothing else has marks kernels. */
#if defined(__clang__)
#define __global__ __attribute__((used, section("__TEXT,offload")))
/* The LLVM IR lists annotated variables, and annotated functions as well. */
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
/* A library exports only what is marked.  Each source of a module defines the functions that launch, and
 * Windows has no weak definitions.  Inline functions are merged instead.  If they are exported, they are
 * compiled even if nothing calls them. */
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
/* In a function, thread_local implies static.  Launches on several threads of the operating system do not share it. */
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
/* clang recognizes AMD's attributes, but supports them for no other target. */
#define amdgpu_flat_work_group_size(...)
#define amdgpu_waves_per_eu(...)
#define amdgpu_num_sgpr(...)
#define amdgpu_num_vgpr(...)
#define __forceinline__ inline __attribute__((always_inline))
/* Headers of the standard library contain __attribute__((__noinline__)), so the macro must be empty here. */
#define __noinline__

#define OFFLOAD_DEVICE inline
#define OFFLOAD_HOST_DEVICE inline

#if defined(OFFLOAD_CPU_CHECK)
#include "checked.h"
#else
/* The place of a call in the source, which only checked builds need. */
#define OFFLOAD_PLACE
#define OFFLOAD_AND_PLACE
#define OFFLOAD_ITS_PLACE
/* For the state of a thread of the operating system that runs blocks.  g++ finds the whole state with one call of
 * __tls_get_addr, but only if the attribute hides it; an option is not enough. */
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

/* In C++, `extern __shared__ float tile[];` declares an array without a definition.  offload-build defines the array when it
 * links ELF objects.  This macro works for all formats, and for several types. */
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
/* clang calls this function for each parameter of type __bf16.  GCC's library has it only since version 13. */
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

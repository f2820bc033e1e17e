/* offload/checked.h: the functions of checks.cpp that the kernels of a checked build use.  Part of offload/cpu.h.
 *
 * A checked build (OFFLOAD_CPU_CHECK) compiles kernels with a sanitizer, and checks.cpp without one: accesses by the scheduler
 * are not races of the kernel.  Blocks run one after another, on one thread of the operating system at a time, so that findings
 * do not depend on chance.  For the sanitizers, they are concurrent.
 *
 * Each block has its own memory for a __shared__ variable: compilers call a function that returns the address of a thread_local
 * variable, and check_shared.h replaces that function in checked builds.
 */
#ifndef OFFLOAD_CHECKED_H
#define OFFLOAD_CHECKED_H

#if defined(__clang__)
/* With -femulated-tls. */
#define __shared__ thread_local
#else
#define __shared__ thread_local __attribute__((tls_model("global-dynamic")))
#endif

namespace offload_cpu {

/* The place of a call in the source. */
struct code_place {
  const char *file;
  unsigned line;
  static constexpr code_place of_caller(const char *file = __builtin_FILE(), unsigned line = __builtin_LINE()) {
    return {file, line};
  }
};

} // namespace offload_cpu

#define OFFLOAD_PLACE offload_cpu::code_place at = offload_cpu::code_place::of_caller()
#define OFFLOAD_AND_PLACE , OFFLOAD_PLACE
#define OFFLOAD_ITS_PLACE , at
#define OFFLOAD_CPU_FIBERS 1

#if defined(OFFLOAD_CPU_CHECK_RUNTIME)
/* Not thread_local: see __shared__. */
#define OFFLOAD_CPU_OWN inline
#define OFFLOAD_CPU_CALLED
#include "schedule.h"
#else
extern dim3 threadIdx, blockIdx, blockDim, gridDim;

namespace offload_cpu {
unsigned barrier(bool holds, code_place at);
uint64_t meet(offload_warp_function function, offload_lanes mask, uint64_t value, unsigned source, code_place at);
unsigned lane_number();
size_t dynamic_shared_size();
void *dynamic_shared(code_place at = code_place::of_caller());
} // namespace offload_cpu
#endif

namespace offload_cpu {
/* A fence orders a thread's accesses before it and the accesses of threads that have seen an atomic write after the fence.
 * ThreadSanitizer does not support fences.  So atomic functions always acquire, and release after the thread's first fence. */
void fence();
bool has_fenced();

/* The kernel ends the program here with the function `how`. */
[[noreturn]] void trap(const char *how, code_place at = code_place::of_caller());
} // namespace offload_cpu

/* Nothing else makes all sanitizers report this instruction. */
#define __builtin_trap() offload_cpu::trap("__builtin_trap")

#endif

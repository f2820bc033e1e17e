/* offload/checked.h: what kernels of a checked build see of those who run them.  Part of offload/cpu.h.
 *
 * A checked build (OFFLOAD_CPU_CHECK) compiles kernels with a sanitizer and checks.cpp without: what the scheduler does
 * for one thread and another is no race of the kernel's.  Blocks run one after another, on one thread of the operating
 * system at a time, so that findings do not depend on chance; for the sanitizers they are concurrent.
 *
 * The memory of a __shared__ variable is a block's own: compilers leave it to a function where the storage of a
 * thread_local variable is, and in a checked build that function is ours (check_shared.h).
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

/* Where a call is in the source. */
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
/* A fence orders what the thread does before it and what others do after they have seen an atomic write that follows it.
 * ThreadSanitizer knows no fences, so the atomic functions of a thread release from its first fence on, and all acquire. */
void fence();
bool has_fenced();

/* A kernel stops here by the function `how`, and with it the program. */
[[noreturn]] void trap(const char *how, code_place at = code_place::of_caller());
} // namespace offload_cpu

/* No other way leads from the instruction to a report in all sanitizers. */
#define __builtin_trap() offload_cpu::trap("__builtin_trap")

#endif

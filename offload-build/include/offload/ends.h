/* offload/ends.h: kernels that end the program, by __trap or by an exception that they do not catch.  Part of
 * offload/schedule.h.
 *
 * An exception must not reach the caller of a launch: between it and the kernel are functions of other languages, and
 * stacks that end.  Checked builds report it as a finding, and end the program as well.
 */
#ifndef OFFLOAD_ENDS_H
#define OFFLOAD_ENDS_H

#if defined(__cpp_exceptions) && defined(__ELF__)
#define OFFLOAD_CPU_CATCHES 1
#else
#define OFFLOAD_CPU_CATCHES 0
#endif

#if OFFLOAD_CPU_CATCHES && !defined(OFFLOAD_CPU_CHECK)
/* An image needs the C++ library only if a kernel of it does: the handler refers to the library weakly.  Where the
 * library is not loaded, no exception comes. */
__asm__(".weak __gxx_personality_v0\n\t.weak __cxa_begin_catch");
/* std::terminate prints what the exception is. */
extern "C" [[noreturn]] void offload_cpu_terminate() noexcept __asm__("_ZSt9terminatev") __attribute__((weak));
#endif

namespace offload_cpu {

#if !defined(OFFLOAD_CPU_CHECK)
[[noreturn]] inline void trap(const char *file, unsigned line) {
  fprintf(stderr, "offload: %sblock (%u, %u, %u), thread (%u, %u, %u): it calls __trap at %s:%u\n", in_kernel().text,
          blockIdx.x, blockIdx.y, blockIdx.z, threadIdx.x, threadIdx.y, threadIdx.z, file, line);
  end_program();
}

#if OFFLOAD_CPU_CATCHES
namespace check {
[[noreturn]] inline void thrown() noexcept {
  fprintf(stderr,
          "offload: %sblock (%u, %u, %u), thread (%u, %u, %u): the kernel throws a C++ exception and does not catch it. "
          "GPUs have no exceptions: write what is wrong to a buffer, or catch the exception in the kernel\n",
          in_kernel().text, blockIdx.x, blockIdx.y, blockIdx.z, threadIdx.x, threadIdx.y, threadIdx.z);
  if (offload_cpu_terminate != nullptr)
    offload_cpu_terminate();
  end_program();
}
} // namespace check
#endif
#endif

/* Calls the kernel for the thread whose index is set. */
inline void run_kernel(launch &l) {
#if OFFLOAD_CPU_CATCHES
  try {
    l.thread(l.context);
  } catch (...) {
    check::thrown();
  }
#else
  l.thread(l.context);
#endif
}

} // namespace offload_cpu

#endif

/* offload/ends.h: kernels that end the program, by __trap or by an exception that they do not catch.  Part of
 * offload/schedule.h.
 *
 * An exception must not reach the caller of a launch: between it and the kernel are functions of other languages, and
 * stacks that end.  The unwinder looks for a handler before it leaves any function.  On its way it asks the function here
 * that calls kernels, by a personality routine (Itanium C++ ABI, "Exception Handling"), and learns that there is none.
 * A handler in C++ would make each image need the C++ library.
 */
#ifndef OFFLOAD_ENDS_H
#define OFFLOAD_ENDS_H

namespace offload_cpu {

#if !defined(OFFLOAD_CPU_CHECK)
[[noreturn]] inline void trap(const char *file, unsigned line) {
  fprintf(stderr, "offload: %sblock (%u, %u, %u), thread (%u, %u, %u): it calls __trap at %s:%u\n", in_kernel().text,
          blockIdx.x, blockIdx.y, blockIdx.z, threadIdx.x, threadIdx.y, threadIdx.z, file, line);
  end_program();
}

namespace check {
/* Whoever throws prints what the exception is, and ends the program. */
inline void thrown(void *) {
  fprintf(stderr,
          "offload: %sblock (%u, %u, %u), thread (%u, %u, %u): the kernel throws a C++ exception and does not catch it. "
          "GPUs have no exceptions: write what is wrong to a buffer, or catch the exception in the kernel\n",
          in_kernel().text, blockIdx.x, blockIdx.y, blockIdx.z, threadIdx.x, threadIdx.y, threadIdx.z);
}
} // namespace check
#endif

#if defined(__cpp_exceptions) && defined(__ELF__) && (defined(__x86_64__) || defined(__aarch64__))
/* The constraint for a function's address.  On AArch64, g++ refuses "i" in position-independent code. */
#if defined(__aarch64__)
#define OFFLOAD_ADDRESS "S"
#else
#define OFFLOAD_ADDRESS "i"
#endif

static int answer_unwinder(int, int actions, uint64_t, void *exception, void *) {
  constexpr int searches = 1, fatal = 3, continues = 8;
  /* Threads of the operating system that are cancelled search for nothing. */
  if (!(actions & searches))
    return continues;
  check::thrown(exception);
  return fatal;
}

/* Calls the kernel for the thread whose index is set. */
static OFFLOAD_OPAQUE void run_kernel(launch &l) {
  /* Relative to the place, in 32 bits. */
  __asm__ volatile(".cfi_personality 0x1b, %c0" : : OFFLOAD_ADDRESS(answer_unwinder));
  l.thread(l.context);
  /* The call is not the last thing: this function must be on the stack. */
  __asm__ volatile("" : : : "memory");
}
#else
inline void run_kernel(launch &l) { l.thread(l.context); }
#endif

} // namespace offload_cpu

#endif

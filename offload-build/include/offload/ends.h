/* offload/ends.h: kernels that end the program: by __trap, by an uncaught exception, or because a thread needs more stack than
 * it has.  Part of offload/schedule.h.
 *
 * An exception must not reach the caller of a launch, because functions of other languages and ends of stacks are in between.
 * The unwinder searches for a handler before it leaves any function.  On its way, it calls the personality routine of the
 * function that calls kernels (Itanium C++ ABI, "Exception Handling"), which returns an error.  With a C++ handler instead,
 * each image would need the C++ library.
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
/* The function that throws then prints the exception, and ends the program. */
inline void thrown(void *) {
  fprintf(stderr,
          "offload: %sblock (%u, %u, %u), thread (%u, %u, %u): the kernel throws a C++ exception and does not catch it. "
          "GPUs have no exceptions: write what is wrong to a buffer, or catch the exception in the kernel\n",
          in_kernel().text, blockIdx.x, blockIdx.y, blockIdx.z, threadIdx.x, threadIdx.y, threadIdx.z);
}
} // namespace check
#endif

#if OFFLOAD_CPU_FIBERS && !defined(_WIN32) && !defined(OFFLOAD_CPU_CHECK)
/* Runs on the stack of the thread that needs more, from the beginning of this stack. */
inline void lacks_stack() {
  const size_t size = current->lacking;
  char what[256];
  snprintf(what, sizeof what,
           "it needs more than the %llu bytes of stack that a thread has here; define a larger OFFLOAD_CPU_STACK in "
           "build.rs: .define(\"OFFLOAD_CPU_STACK\", \"%llu\")",
           (unsigned long long)size, (unsigned long long)(4 * size));
  fail(what);
}

inline void tell_crash(const void *address, int signal) {
  char what[128];
  switch (signal) {
  case 4:
    snprintf(what, sizeof what, "it comes to an instruction that the CPU lacks (SIGILL), such as that of __builtin_trap");
    break;
  case 5:
    snprintf(what, sizeof what, "it comes to an instruction that stops the program (SIGTRAP), such as that of __builtin_trap");
    break;
  case 8:
    snprintf(what, sizeof what, "it divides an integer by zero (SIGFPE)");
    break;
  default:
    snprintf(what, sizeof what, "it must not access the address %p (%s)", address, signal == 7 ? "SIGBUS" : "SIGSEGV");
  }
  /* fprintf needs more stack than a signal handler has. */
  static char text[1024];
  int size = snprintf(text, sizeof text, "offload: %sblock (%u, %u, %u): %s; cargo offload test shows the thread and the line\n",
                      in_kernel().text, blockIdx.x, blockIdx.y, blockIdx.z, what);
  fwrite(text, 1, size_t(size), stderr);
}

/* The program calls this if a thread of the operating system that runs blocks has no access to this address.  The function
 * returns if the address is not in the guard of a stack.
 *
 * The program calls it again before a signal ends the program.  In a loop over threads, the current thread is unknown. */
extern "C" OFFLOAD_CPU_ENTRY void offload_cpu_no_access(const void *address, int signal) {
  launch *l = current;
  if (l == nullptr)
    return;
  if (signal != 0)
    return tell_crash(address, signal);
  const stack_pool &of = l->first_stack.of_guard(address) != nullptr ? l->first_stack : l->stacks;
  char *stack = of.of_guard(address);
  if (stack == nullptr)
    return;
  l->lacking = of.size;
  place start;
  begin_at(&start, stack, of.size, lacks_stack);
  exchange(&l->never, &start);
}
#endif

/* Calls the kernel for the thread whose index is set, or calls a region of the kernel for some threads. */
inline void call_kernel(launch &l) {
#if OFFLOAD_CPU_FIBERS
  if (l.by.of != nullptr) {
    l.by.came_to = l.by.of->run[l.by.region](&l.by.frame, l.by.from, l.by.to);
    return;
  }
#endif
  l.thread(l.context);
}

#if defined(__cpp_exceptions) && defined(__ELF__) && (defined(__x86_64__) || defined(__aarch64__))
/* The constraint for a function's address.  On AArch64, g++ refuses "i" in position-independent code. */
#if defined(__aarch64__)
#define OFFLOAD_ADDRESS "S"
#else
#define OFFLOAD_ADDRESS "i"
#endif

static int answer_unwinder(int, int actions, uint64_t, void *exception, void *) {
  constexpr int searches = 1, fatal = 3, continues = 8;
  /* When a thread of the operating system is cancelled, the unwinder does not search for a handler. */
  if (!(actions & searches))
    return continues;
  check::thrown(exception);
  return fatal;
}

static OFFLOAD_OPAQUE void run_kernel(launch &l) {
  /* The encoding 0x1b: an address relative to its own place, in 32 bits. */
  __asm__ volatile(".cfi_personality 0x1b, %c0" : : OFFLOAD_ADDRESS(answer_unwinder));
  call_kernel(l);
  /* Prevents a tail call: this function must be on the stack. */
  __asm__ volatile("" : : : "memory");
}
#else
inline void run_kernel(launch &l) { call_kernel(l); }
#endif

} // namespace offload_cpu

#endif

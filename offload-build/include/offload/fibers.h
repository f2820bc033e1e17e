/* offload/fibers.h: stacks that can be left and entered again.  Part of offload/cpu.h.
 *
 * A thread of a block that waits at a barrier keeps its state on its own stack while other threads run.  All of them run on one
 * thread of the operating system, because __shared__ variables are thread_local.  On x86-64 and AArch64, a few instructions
 * switch stacks.  Other processors use ucontext, which calls the kernel at each switch; musl does not have it.  On Windows,
 * stacks are fibers of the system: offload/fibers_windows.h.
 */
#ifndef OFFLOAD_FIBERS_H
#define OFFLOAD_FIBERS_H

#if defined(_WIN32) || (defined(__x86_64__) && defined(__LP64__)) || defined(__aarch64__)
#define OFFLOAD_CPU_FIBERS 1
#elif defined(__GLIBC__) || defined(__FreeBSD__) || defined(__NetBSD__)
#define OFFLOAD_CPU_FIBERS 1
#define OFFLOAD_CPU_UCONTEXT 1
#else
#define OFFLOAD_CPU_FIBERS 0
#endif

/* Bytes of stack for each thread, which the system provides when they are touched.  Every kernel for NVIDIA's GPUs has room,
 * since these give a thread at most 512 KiB of local memory.  32-bit address spaces are too small for 1 MiB. */
#if !defined(OFFLOAD_CPU_STACK)
#define OFFLOAD_CPU_STACK (sizeof(void *) < 8 ? 256 * 1024 : 1024 * 1024)
#endif

/* The compiler must not conclude from a function's code which registers the function leaves unchanged. */
#if defined(__clang__)
#define OFFLOAD_OPAQUE __attribute__((noinline))
#else
#define OFFLOAD_OPAQUE __attribute__((noipa))
#endif

/* For functions that have several callers and take longer than a call.  Kernels are compiled with a large limit for inlining,
 * as on GPUs.  With that limit, the compiler would copy these functions into each caller, and compiling a small kernel would
 * take a third longer. */
#define OFFLOAD_ONE_COPY __attribute__((noinline))

#if defined(_WIN32)
/* A fiber that was left for good is reused by returning to its first function. */
#define OFFLOAD_CPU_NEVER_BACK return
#include "fibers_windows.h"
#elif OFFLOAD_CPU_FIBERS
#define OFFLOAD_CPU_NEVER_BACK __builtin_unreachable()
#include <stddef.h>
#if defined(OFFLOAD_CPU_UCONTEXT)
#include <ucontext.h>
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(OFFLOAD_CPU_CHECK_MEMORY)
#define OFFLOAD_CPU_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define OFFLOAD_CPU_ASAN 1
#endif
#endif
#if defined(OFFLOAD_CPU_ASAN)
extern "C" void __sanitizer_start_switch_fiber(void **fake_stack, const void *bottom, size_t size);
extern "C" void __sanitizer_finish_switch_fiber(void *fake_stack, const void **bottom, size_t *size);
#endif
#include "stacks.h"

namespace offload_cpu {

/* The state with which a suspended stack goes on. */
struct place {
#if defined(OFFLOAD_CPU_UCONTEXT)
  ucontext_t registers;
#else
  void *stack_pointer, *frame_pointer, *address;
#endif
#if defined(OFFLOAD_CPU_ASAN)
  const void *bottom;
  size_t size;
#endif
};

#if defined(OFFLOAD_CPU_UCONTEXT)
inline void exchange(place *from, place *to) { swapcontext(&from->registers, &to->registers); }

inline void set_entry(place *start, char *bottom, size_t size, void (*entry)()) {
  getcontext(&start->registers);
  start->registers.uc_stack.ss_sp = bottom;
  start->registers.uc_stack.ss_size = size;
  start->registers.uc_link = nullptr;
  makecontext(&start->registers, entry, 0);
}
#else
/* Every register that a function must preserve is either in the list at the end, so that the compiler saves it, or in `place`.
 * Not inlined: in another function, the compiler could leave values in registers that are not in the list. */
inline OFFLOAD_OPAQUE void exchange(place *from, place *to) {
#if defined(__x86_64__)
  __asm__ volatile("leaq 1f(%%rip), %%rax\n\t"
                   "movq %%rsp, (%%rdi)\n\t"
                   "movq %%rbp, 8(%%rdi)\n\t"
                   "movq %%rax, 16(%%rdi)\n\t"
                   "movq (%%rsi), %%rsp\n\t"
                   "movq 8(%%rsi), %%rbp\n\t"
                   "jmpq *16(%%rsi)\n"
                   "1:"
                   : "+D"(from), "+S"(to)
                   :
                   : "rax", "rbx", "rcx", "rdx", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "cc", "memory",
                     "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11",
                     "xmm12", "xmm13", "xmm14", "xmm15");
#else
  register place *first __asm__("x0") = from;
  register place *second __asm__("x1") = to;
  /* hint 34 marks a target of indirect branches.  A function that begins on a stack has no caller. */
  __asm__ volatile("adr x16, 1f\n\t"
                   "mov x17, sp\n\t"
                   "stp x17, x29, [x0]\n\t"
                   "str x16, [x0, #16]\n\t"
                   "ldp x17, x29, [x1]\n\t"
                   "ldr x16, [x1, #16]\n\t"
                   "mov sp, x17\n\t"
                   "mov x30, xzr\n\t"
                   "br x16\n"
                   "1:\n\t"
                   "hint #34"
                   : "+r"(first), "+r"(second)
                   :
                   : "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13", "x14", "x15", "x16",
                     "x17", "x19", "x20", "x21", "x22", "x23", "x24", "x25", "x26", "x27", "x28", "x30", "v0", "v1",
                     "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12", "v13", "v14", "v15", "v16",
                     "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25", "v26", "v27", "v28", "v29", "v30",
                     "v31", "cc", "memory");
#endif
}

inline void set_entry(place *start, char *bottom, size_t size, void (*entry)()) {
  void **top = reinterpret_cast<void **>(bottom + size) - 2;
  top[1] = nullptr;
#if defined(__x86_64__)
  /* As after a call: an unused return address is on the stack, at a multiple of 16 less 8. */
  ++top;
#endif
  *start = {};
  start->stack_pointer = top;
  start->address = reinterpret_cast<void *>(entry);
}
#endif

/* Sets `start` so that `entry` begins on an empty stack. */
inline bool begin_at(place *start, char *bottom, size_t size, void (*entry)()) {
  set_entry(start, bottom, size, entry);
#if defined(OFFLOAD_CPU_ASAN)
  start->bottom = bottom;
  start->size = size;
#endif
  return true;
}

#if defined(OFFLOAD_CPU_ASAN)
/* The place that was left last: on arrival at another place, AddressSanitizer returns the bounds of its stack. */
OFFLOAD_CPU_OWN place *left = nullptr;
#endif

/* Must be the first call on a new stack. */
inline void arrived(void *fake_stack = nullptr) {
#if defined(OFFLOAD_CPU_ASAN)
  __sanitizer_finish_switch_fiber(fake_stack, &left->bottom, &left->size);
#else
  (void)fake_stack;
#endif
}

/* Prefetches the part of a stack that `go` will need. */
inline void prefetch(const place &to) {
#if defined(OFFLOAD_CPU_UCONTEXT)
  (void)to;
#else
  __builtin_prefetch(to.stack_pointer);
  __builtin_prefetch(static_cast<const char *>(to.stack_pointer) + 64);
#endif
}

/* Leaves `from` and goes on at `to`; returns when something goes on at `from`.  With `last`, nothing ever does. */
inline void go(place *from, place *to, bool last = false) {
  void *fake_stack = nullptr;
#if defined(OFFLOAD_CPU_ASAN)
  left = from;
  __sanitizer_start_switch_fiber(last ? nullptr : &fake_stack, to->bottom, to->size);
#else
  (void)last;
#endif
  exchange(from, to);
  arrived(fake_stack);
}

} // namespace offload_cpu
#endif

#endif

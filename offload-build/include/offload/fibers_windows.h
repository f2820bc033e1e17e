/* offload/fibers_windows.h: stacks that can be left and entered again, on Windows.  Part of offload/fibers.h.
 *
 * Each stack is a fiber of the system.  The system then also switches the limits of the stack in the thread's information
 * block, the guard page, which moves when a stack grows, and shadow stacks.  The functions are declared here, because
 * <windows.h> would define names that kernels use.
 */
#ifndef OFFLOAD_FIBERS_WINDOWS_H
#define OFFLOAD_FIBERS_WINDOWS_H

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

extern "C" {
__declspec(dllimport) int __stdcall IsThreadAFiber(void);
__declspec(dllimport) void *__stdcall ConvertThreadToFiberEx(void *argument, unsigned long flags);
__declspec(dllimport) int __stdcall ConvertFiberToThread(void);
__declspec(dllimport) void *__stdcall CreateFiberEx(size_t commit, size_t reserve, unsigned long flags,
                                                    void(__stdcall *start)(void *), void *argument);
__declspec(dllimport) void __stdcall SwitchToFiber(void *fiber);
__declspec(dllimport) void __stdcall DeleteFiber(void *fiber);
}

namespace offload_cpu {

/* With this flag, a switch preserves the state of the floating-point unit. */
constexpr unsigned long with_floating_point = 1;

/* Like GetCurrentFiber of <windows.h>, which is not a library function. */
inline void *current_fiber() {
  void *fiber;
#if defined(__x86_64__)
  __asm__ volatile("movq %%gs:0x20, %0" : "=r"(fiber));
#elif defined(__i386__)
  __asm__ volatile("movl %%fs:0x10, %0" : "=r"(fiber));
#else
  __asm__ volatile("ldr %0, [x18, #0x20]" : "=r"(fiber));
#endif
  return fiber;
}

/* The state with which a suspended stack goes on. */
struct place {
  void *fiber;
};

/* A stack, which is a fiber once something begins on it. */
struct fiber_stack {
  void *fiber;
  void (*entry)();
  fiber_stack *next_idle;
};

/* Never returns: a fiber that was left for good can begin again. */
inline void __stdcall run_fiber(void *stack) {
  for (;;)
    static_cast<fiber_stack *>(stack)->entry();
}

/* Sets `start` so that `entry` begins on a stack of `size` bytes.  Returns false if the system has no memory. */
inline bool begin_at(place *start, char *bottom, size_t size, void (*entry)()) {
  fiber_stack *stack = reinterpret_cast<fiber_stack *>(bottom);
  stack->entry = entry;
  if (stack->fiber == nullptr)
    stack->fiber = CreateFiberEx(0, size, with_floating_point, run_fiber, stack);
  start->fiber = stack->fiber;
  return stack->fiber != nullptr;
}

/* Leaves `from` and goes on at `to`.  Returns when something goes on at `from`, or begins again on that stack after it was left
 * for good. */
inline void go(place *from, place *to, bool = false) {
  from->fiber = current_fiber();
  SwitchToFiber(to->fiber);
}

inline void arrived() {}
inline void prefetch(const place &) {}

/* Images do not share fibers, because a fiber's code is in the image that made it. */
struct process_stacks {
  static process_stacks *begin(void *, size_t, int) { return nullptr; }
};

/* On Windows, users cannot set limits. */
template <size_t Size> const char *describe_limits(char (&text)[Size], const process_stacks *) {
  text[0] = 0;
  return text;
}

/* The stacks of one launch. */
struct stack_pool {
  fiber_stack *from;
  size_t size, made, limit;
  fiber_stack *idle;
  bool converted;

  bool reserve(size_t stacks, size_t least, process_stacks * = nullptr, unsigned = 0) {
    size = least;
    if (!IsThreadAFiber()) {
      if (ConvertThreadToFiberEx(nullptr, with_floating_point) == nullptr)
        return false;
      converted = true;
    }
    from = static_cast<fiber_stack *>(calloc(stacks, sizeof(fiber_stack)));
    limit = stacks;
    return from != nullptr;
  }

  char *take() {
    fiber_stack *stack = idle;
    if (stack != nullptr)
      idle = stack->next_idle;
    else
      stack = from + made++;
    return reinterpret_cast<char *>(stack);
  }

  /* The stack with this number, for callers that use each stack once. */
  char *of(size_t number) { return reinterpret_cast<char *>(from + number); }

  void give_back(char *returned) {
    fiber_stack *stack = reinterpret_cast<fiber_stack *>(returned);
    stack->next_idle = idle;
    idle = stack;
  }

  void release() {
    for (size_t i = 0; from != nullptr && i < limit; ++i)
      if (from[i].fiber != nullptr)
        DeleteFiber(from[i].fiber);
    free(from);
    if (converted)
      ConvertFiberToThread();
    *this = {};
  }
};

} // namespace offload_cpu

#endif

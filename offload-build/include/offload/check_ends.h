/* offload/check_ends.h: kernels that end the process, or need more stack than a thread has. Part of offload/checks.cpp.
 *
 * If a kernel ends the process, later tests do not run; with exit(0), the program even seems to have passed.  The linker
 * redirects calls of such functions to this file (--wrap).  __builtin_trap is a macro in offload/checked.h, and exceptions
 * arrive through offload/ends.h.  If the processor refuses an access, the sanitizer reports it and ends the process.  The image
 * sets no signal handlers: two images could remove theirs only in one order.
 */

extern "C" {
__attribute__((weak)) void __sanitizer_set_death_callback(void (*callback)(void));
[[noreturn]] void __real_abort(void);
[[noreturn]] void __real_exit(int);
[[noreturn]] void __real__exit(int);
[[noreturn]] void __real__Exit(int);
[[noreturn]] void __real_quick_exit(int);
[[noreturn]] void __real___assert_fail(const char *, const char *, unsigned, const char *);
}

namespace offload_cpu {
namespace reports {

/* Whether a kernel runs on this thread of the operating system, and no report has ended the kernel. */
inline bool is_in_kernel() { return is_running() && !is_ending; }

/* A finding after which the process ends.  What the kernel's code calls to end the process is not reported again. */
struct last_finding : finding {
  text what, line;

  explicit last_finding(const char *kind) : finding(*current, kind, current->count, "threads") {
    is_ending = true;
    what.add("1 ");
  }

  void print() {
    place(what, line, threadIdx);
    finding::print();
  }
};

constexpr char ends_process[] = "a kernel that ends the process";

/* The kernel ends the process with the function `how`, called at this place or just before this address. */
template <class Place> void end_at(const char *how, const Place &at) {
  if (!is_in_kernel())
    return;
  last_finding it(ends_process);
  it.what.add("calls %s", how);
  add_place(it.line, at);
  it.print();
}

/* A sanitizer has reported an access that the processor refused.  AddressSanitizer calls of_address_sanitizer instead. */
inline void of_death() {
  if (!is_in_kernel())
    return;
  last_finding it(ends_process);
  it.what.add("does what the sanitizer has reported above");
  if (void *last = current->threads[current->self].last_code[1]) {
    it.what.add(", after ");
    add_place(it.what, last);
  }
  it.print();
}

/* The kernel throws an exception and does not catch it. */
[[noreturn]] inline void thrown(void *exception) {
  last_finding it(ends_process);
  /* Handling the exception makes its type known. */
  abi::__cxa_begin_catch(exception);
  int status = 0;
  const std::type_info *type = abi::__cxa_current_exception_type();
  char *readable = type != nullptr ? abi::__cxa_demangle(type->name(), nullptr, nullptr, &status) : nullptr;
  it.what.add("throws %s", readable != nullptr ? readable : type != nullptr ? type->name() : "an exception");
  try {
    throw;
  } catch (const std::exception &error) {
    char what[256];
    snprintf(what, sizeof what, "%s", error.what());
    for (char *letter = what; *letter != 0; ++letter)
      if (*letter == '\n')
        *letter = ' ';
    it.what.add(" (%s)", what);
  } catch (...) {
  }
  it.what.add(" and does not catch it");
  add_place(it.line, current->threads[current->self].last_code[1]);
  it.print();
  __real_abort();
}

inline void watch_death(bool watches) {
#if !defined(OFFLOAD_CPU_CHECK_MEMORY)
  if (__sanitizer_set_death_callback != nullptr)
    __sanitizer_set_death_callback(watches ? of_death : nullptr);
#else
  (void)watches;
#endif
}

constexpr char not_given[] = "dynamic shared memory that the launch does not give (set Launch::shared_memory)";

/* The launch provides no memory for OFFLOAD_DYNAMIC_SHARED. */
[[noreturn]] inline void no_dynamic_shared(const code_place &at) {
  last_finding it(not_given);
  it.what.add("uses it");
  add_place(it.line, at);
  it.print();
  __real_abort();
}

[[noreturn]] inline void no_dynamic_shared() {
  last_finding it(not_given);
  it.what.add("uses it");
  add_calling_place(it.line);
  it.print();
  __real_abort();
}

[[noreturn]] __attribute__((noinline)) inline void lacks_stack(size_t needs, void *pc) {
  last_finding it("a thread that needs more stack than it has (define OFFLOAD_CPU_STACK)");
  it.what.add("needs at least %zu bytes and has %zu", needs, checked_stack);
  add_place(it.line, pc);
  it.print();
  __real_abort();
}

/* Called at the beginning of a function, when its local variables already have their place: `here` is below them. */
inline void limit_stack(const launch &l, const char *here, void *pc) {
  const char *bottom = l.stacks.bottom(l.self), *top = bottom + l.stacks.size;
  if (here >= bottom && here < top - checked_stack && !is_ending)
    lacks_stack(size_t(top - here), pc);
}

} // namespace reports
} // namespace offload_cpu

extern "C" {

/* Kernels are compiled so that they call this in each part of a function: -fsanitize-coverage=trace-pc. */
__attribute__((visibility("hidden"))) void __sanitizer_cov_trace_pc(void) {
  using namespace offload_cpu;
  launch *l = current;
  if (l == nullptr || l->threads == nullptr)
    return;
  waiting_thread &mine = l->threads[l->self];
  void *here = __builtin_return_address(0);
  reports::limit_stack(*l, static_cast<char *>(__builtin_frame_address(0)), here);
  if (mine.last_code[1] != here) {
    mine.last_code[0] = mine.last_code[1];
    mine.last_code[1] = here;
  }
  static unsigned calls;
  if (l->checks->end != 0 && ++calls % 65536 == 0 && time(nullptr) >= l->checks->end)
    reports::takes_too_long(*l);
}

#define OFFLOAD_CPU_HIDDEN __attribute__((visibility("hidden")))
OFFLOAD_CPU_HIDDEN void __wrap_abort(void) {
  offload_cpu::reports::end_at("abort", __builtin_return_address(0));
  __real_abort();
}
/* A program that ends with status 0 seems to have passed. */
#define OFFLOAD_CPU_WRAP_EXIT(function)                                                                                \
  OFFLOAD_CPU_HIDDEN void __wrap_##function(int status) {                                                              \
    bool is_of_kernel = offload_cpu::reports::is_in_kernel();                                                          \
    offload_cpu::reports::end_at(#function, __builtin_return_address(0));                                              \
    if (is_of_kernel)                                                                                                  \
      __real_abort();                                                                                                  \
    __real_##function(status);                                                                                         \
  }
OFFLOAD_CPU_WRAP_EXIT(exit)
OFFLOAD_CPU_WRAP_EXIT(_exit)
OFFLOAD_CPU_WRAP_EXIT(_Exit)
OFFLOAD_CPU_WRAP_EXIT(quick_exit)
#undef OFFLOAD_CPU_WRAP_EXIT
OFFLOAD_CPU_HIDDEN void __wrap___assert_fail(const char *condition, const char *file, unsigned line,
                                             const char *function) {
  offload_cpu::reports::end_at("assert", offload_cpu::code_place{file, line});
  __real___assert_fail(condition, file, line, function);
}
#undef OFFLOAD_CPU_HIDDEN
}

/* offload/check_reports.h: findings that no sanitizer has, and the kernel, block and thread of a sanitizer's findings.  Part of
 * offload/checks.cpp.
 *
 * A finding is a sentence for people:
 *
 *   offload: a barrier that not all threads reach, in the kernel scale, block (0, 0, 0): of 64 threads
 *     8 wait at the barrier at kernels/sum.cu:24: the first is thread (0, 0, 0)
 *
 * With OFFLOAD_CPU_LOG, a record for `cargo offload test` follows the sentence.  The record is one line of fields, separated by
 * TABs.  The first field is `offload-finding`; the others are:
 *
 *   kind    what was found.  Without a kind, the record is about the sanitizer's report before it
 *   kernel  the kernel's name
 *   what    what happens at a place: the fields after it are those of the place
 *   line    the place in the source, `kernels/sum.cu:24`
 *   thread  the block and the thread
 *   note    another fact
 *
 * Both are written where the sanitizer writes.  ThreadSanitizer's reports have block and thread in the names of its threads.
 */

extern "C" {
/* Weak: an image may be linked with any of the runtimes. */
__attribute__((weak)) void __sanitizer_report_error_summary(const char *text);
__attribute__((weak)) void __sanitizer_symbolize_pc(void *pc, const char *format, char *out, size_t size);
#if defined(OFFLOAD_CPU_CHECK_MEMORY)
void __asan_set_error_report_callback(void (*callback)(const char *report));
void *__asan_get_report_address(void);
#endif
}

namespace offload_cpu {

/* A text of a few lines, cut off if it becomes too long. */
struct text {
  char bytes[4096];
  size_t size = 0;

  text() { bytes[0] = 0; }

  __attribute__((format(printf, 2, 3))) text &add(const char *format, ...) {
    va_list list;
    va_start(list, format);
    int added = vsnprintf(bytes + size, sizeof bytes - size, format, list);
    va_end(list);
    if (added > 0)
      size += size_t(added) < sizeof bytes - size ? size_t(added) : sizeof bytes - size - 1;
    return *this;
  }

  text &index(const char *what, const dim3 &index) { return add("%s (%u, %u, %u)", what, index.x, index.y, index.z); }

  void print(void (*summary)(const char *) = __sanitizer_report_error_summary) const {
    if (summary != nullptr)
      summary(bytes);
    else
      fprintf(stderr, "%s\n", bytes);
  }
};

namespace reports {

inline const char *kernel_of(const launch &l) { return l.kernel != nullptr ? l.kernel : "(unnamed)"; }

struct finding {
  text sentence, record;

  finding() { record.add("offload-finding"); }

  /* A finding about `count` threads or lanes. */
  finding(const launch &l, const char *kind, unsigned count, const char *things) : finding() {
    sentence.add("offload: %s, in the kernel %s, ", kind, kernel_of(l)).index("block", blockIdx);
    sentence.add(": of %u %s", count, things);
    field("kind", kind).field("kernel", kernel_of(l));
  }

  finding &field(const char *name, const char *value) {
    size_t start = record.add("\t%s=", name).size;
    record.add("%s", value);
    for (; start < record.size; ++start)
      if (static_cast<unsigned char>(record.bytes[start]) < ' ')
        record.bytes[start] = ' ';
    return *this;
  }

  /* Adds the running block, and this thread of it. */
  finding &field_thread(const dim3 &thread) {
    record.index("\tthread=block", blockIdx).index(", thread", thread);
    return *this;
  }

  /* Adds what some threads do, where they do it, and the first of these threads; the line may be empty. */
  void place(const text &what, const text &line, const dim3 &first) {
    sentence.add("\n  %s%s%s", what.bytes, line.size != 0 ? " at " : "", line.bytes);
    sentence.index(": the first is thread", first);
    field("what", what.bytes).field("line", line.bytes).field_thread(first);
  }

  void print(void (*summary)(const char *) = __sanitizer_report_error_summary) const {
    sentence.print(summary);
    const char *log = getenv("OFFLOAD_CPU_LOG");
    if (log != nullptr && *log != 0)
      record.print(summary);
  }
};

/* Adds to a sanitizer's report which kernel runs on this thread of the operating system. */
inline void of_sanitizer(uintptr_t address, void (*summary)(const char *) = __sanitizer_report_error_summary) {
  launch *l = current;
  if (!is_running())
    return;
  ++l->checks->findings;
  finding it;
  it.sentence.add("offload: the finding above is of the kernel %s, ", kernel_of(*l)).index("block", blockIdx);
  it.sentence.index(", thread", threadIdx);
  it.field("kernel", kernel_of(*l)).field_thread(threadIdx);
  const shared_memory *shared = l->checks->shared;
  const shared_memory::variable *variable = shared != nullptr && address != 0 ? shared->near(address) : nullptr;
  if (variable != nullptr) {
    int status = 0;
    char *readable = variable->name != nullptr ? abi::__cxa_demangle(variable->name, nullptr, nullptr, &status) : nullptr;
    const char *name = readable != nullptr ? readable : variable->name;
    text note;
    note.add("the shared memory there is %s, %zu bytes",
             name != nullptr ? name : "that of the launch (OFFLOAD_DYNAMIC_SHARED)", variable->size);
    it.sentence.add("\noffload: %s", note.bytes);
    it.field("note", note.bytes);
    free(readable);
  }
  it.print(summary);
}

/* GCC has separate runtimes for UndefinedBehaviorSanitizer and AddressSanitizer, and all names resolve to the latter.  At its
 * first report, the former sends the latter's reports to log_path in UBSAN_OPTIONS, and its own to nowhere.  A runtime empties
 * a file that it opens, so each needs its own file.  The path is set only once: the runtime stays when an image is unloaded. */
struct undefined_runtime {
  void (*summary)(const char *) = __sanitizer_report_error_summary;

  static const undefined_runtime &get() {
    static const undefined_runtime found;
    return found;
  }

#if defined(OFFLOAD_CPU_CHECK_MEMORY) && !defined(__clang__)
  undefined_runtime() {
    void *library = dlopen("libubsan.so.1", RTLD_LAZY | RTLD_NOLOAD);
    if (library == nullptr)
      return;
    summary = reinterpret_cast<void (*)(const char *)>(dlsym(library, "__sanitizer_report_error_summary"));
    auto set_path = reinterpret_cast<void (*)(const char *)>(dlsym(library, "__sanitizer_set_report_path"));
    constexpr char option[] = "log_path=";
    const char *options = getenv("UBSAN_OPTIONS");
    const char *path = options != nullptr ? strstr(options, option) : nullptr;
    if (path == nullptr || set_path == nullptr)
      return;
    path += sizeof option - 1;
    bool is_quoted = *path == '\'' || *path == '"';
    const char *ends = is_quoted ? (*path == '"' ? "\"" : "'") : ": ,\t\n";
    path += is_quoted;
    char own[3072];
    int length = snprintf(own, sizeof own, "%.*s-own-", int(strcspn(path, ends)), path);
    if (length < 0 || size_t(length) + 32 > sizeof own)
      return;
    /* GCC 11 lacks this function: there, each loaded image has a file. */
    auto get_path = reinterpret_cast<const char *(*)()>(dlsym(library, "__sanitizer_get_report_path"));
    if (get_path != nullptr && strncmp(get_path(), own, size_t(length)) == 0)
      return;
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    snprintf(own + length, sizeof own - size_t(length), "%llx-%lx", (unsigned long long)now.tv_sec, (unsigned long)now.tv_nsec);
    set_path(own);
  }
#endif
};

/* OFFLOAD_CPU_CHECK_ONLY selects one check if an image has two. */
inline bool is_asked_for(const char *check) {
  const char *only = getenv("OFFLOAD_CPU_CHECK_ONLY");
  return only == nullptr || *only == 0 || strcmp(only, check) == 0;
}

#if defined(OFFLOAD_CPU_CHECK_MEMORY)
inline void of_address_sanitizer(const char *) {
  if (is_asked_for("memory"))
    of_sanitizer(reinterpret_cast<uintptr_t>(__asan_get_report_address()));
}
inline void begin() { __asan_set_error_report_callback(of_address_sanitizer); }
#else
inline void begin() {}
#endif

inline bool is_same(const code_place &one, const code_place &other) {
  return one.line == other.line &&
         (one.file == other.file || (one.file != nullptr && other.file != nullptr && strcmp(one.file, other.file) == 0));
}

/* Threads that are in the same call, or have returned. */
struct group {
  state now;
  warp_function function;
  code_place at;
  unsigned count, first;
};

struct groups {
  static constexpr unsigned most = 8;
  group all[most];
  unsigned count = 0;

  groups() {}
  explicit groups(const launch &l) {
    for (unsigned i = 0; i < l.count; ++i)
      add(l, i);
  }

  void add(const launch &l, unsigned i) {
    const waiting_thread &thread = l.threads[i];
    const code_place at = thread.now == state::returned ? code_place{nullptr, 0} : thread.at;
    /* Meaningless in other states. */
    const warp_function function = thread.now == state::at_warp ? thread.function : warp_function::activemask;
    for (unsigned g = 0; g < count; ++g) {
      group &each = all[g];
      if (each.now == thread.now && each.function == function && is_same(each.at, at)) {
        ++each.count;
        return;
      }
    }
    if (count < most)
      all[count++] = {thread.now, function, at, 1, i};
  }
};

/* Writes `file:line`.  GCC's UndefinedBehaviorSanitizer cannot read symbols. */
inline bool find_place(void *pc, char (&place)[512]) {
  place[0] = 0;
  if (__sanitizer_symbolize_pc != nullptr)
    /* The function expects return addresses, and looks just before them. */
    __sanitizer_symbolize_pc(pc, "%s:%l", place, sizeof place);
  return place[0] != 0 && place[0] != '<';
}

inline void add_place(text &to, const code_place &at) { to.add("%s:%u", at.file, at.line); }

inline void add_place(text &to, void *pc) {
  char place[512];
#if defined(OFFLOAD_CPU_CHECK_MEMORY)
  const char unknown[] = "an unknown line";
#else
  const char unknown[] = "a line that this sanitizer cannot name (OFFLOAD_CPU_CHECK=memory can)";
#endif
  to.add("%s", find_place(pc, place) ? place : unknown);
}

/* Adds the kernel's line from which this was called.  In between are functions without a line, which find variables. */
inline void add_calling_place(text &to) {
  void *pc = nullptr;
  _Unwind_Backtrace(
      [](_Unwind_Context *frame, void *found) {
        char place[512];
        void *pc = reinterpret_cast<void *>(_Unwind_GetIP(frame));
        if (!find_place(pc, place) || strstr(place, "/include/offload/") != nullptr)
          return _URC_NO_REASON;
        *static_cast<void **>(found) = pc;
        return _URC_END_OF_STACK;
      },
      &pc);
  add_place(to, pc);
}

inline void add_wait(text &what, const group &each, const waiting_thread &first) {
  const bool is_at_warp = each.now == state::at_warp;
  if (each.now != state::returned) {
    what.add("%u wait %s %s", each.count, is_at_warp ? "in" : "at", is_at_warp ? name_of(each.function) : "the barrier");
    return;
  }
  what.add("%u returned", each.count);
  if (first.last_code[1] == nullptr)
    return;
  what.add(", after ");
  if (first.last_code[0] != nullptr) {
    add_place(what, first.last_code[0]);
    what.add(" and ");
  }
  add_place(what, first.last_code[1]);
}

/* Counts a finding once for each place in a launch, since kernels often reach a barrier many times.  The number of findings can
 * be compared with the number of reports. */
inline bool is_new(const launch &l, const char *what, const groups &of) {
  uint64_t *told = l.checks->told;
  unsigned &count = l.checks->told_count;
  uint64_t key = 0;
  const char *texts[] = {kernel_of(l), what};
  for (const char *text : texts)
    for (const char *c = text; *c != 0; ++c)
      key = permutation::mixed(key ^ uint64_t(*c));
  for (unsigned g = 0; g < of.count; ++g)
    key = permutation::mixed(key ^ of.all[g].at.line) + uint64_t(of.all[g].now) + uint64_t(of.all[g].function) * 8;
  for (unsigned i = 0; i < count; ++i)
    if (told[i] == key)
      return false;
  if (count < sizeof l.checks->told / sizeof *told)
    told[count++] = key;
  ++l.checks->findings;
  return true;
}

/* Reports these groups of `count` threads or lanes; `add` writes what a group does.  Not inlined, because a finding is large,
 * and kernels often call the functions with barriers. */
template <class Add>
__attribute__((noinline)) void report(const launch &l, const char *kind, unsigned count, const char *things, const groups &of,
                                      Add add) {
  if (!is_new(l, kind, of))
    return;
  finding it(l, kind, count, things);
  for (unsigned g = 0; g < of.count; ++g) {
    const group &each = of.all[g];
    const waiting_thread &first = l.threads[each.first];
    text what, line;
    add(what, each, first);
    if (each.now != state::returned)
      add_place(line, each.at);
    it.place(what, line, index_of(each.first));
  }
  it.print();
}

/* A barrier ends although not all threads of the block are at it: on GPUs, that is undefined. */
inline void divergence(launch &l) {
  const waiting_thread &mine = l.threads[l.self];
  bool is_one = l.returned == 0;
  for (unsigned i = 0; i < l.count && is_one; ++i)
    is_one = is_same(l.threads[i].at, mine.at);
  if (!is_one)
    report(l, "a barrier that not all threads reach", l.count, "threads", groups(l), add_wait);
}

constexpr char not_in_mask[] = "a lane that is not in the mask that it passes";

/* Whether this thread, which waits in a warp function, is not in the mask that it passed. */
inline bool is_outside(const launch &l, unsigned thread) {
  const waiting_thread &it = l.threads[thread];
  return it.function != warp_function::activemask && !(it.mask >> thread % warpSize & 1);
}

/* Lanes meet in a warp function although not all of them make the same call, or one is not in the mask that it passes: on GPUs,
 * that is undefined.  Only __syncwarp may be called at several places: CUDA's guides up to version 12 require "a corresponding
 * __syncwarp()" of the other lanes, but "the same intrinsic" for other functions. */
inline void mismatch(launch &l, unsigned base, offload_lanes lanes) {
  groups of, outside;
  bool is_one = true;
  for (unsigned lane = 0; lane < warpSize; ++lane) {
    if (!(lanes >> lane & 1))
      continue;
    const waiting_thread &thread = l.threads[base + lane];
    of.add(l, base + lane);
    is_one = is_one && thread.function == of.all[0].function;
    if (is_outside(l, base + lane))
      outside.add(l, base + lane);
  }
  const unsigned count = unsigned(__builtin_popcountll(lanes));
  if (outside.count != 0)
    report(l, not_in_mask, count, "lanes", outside, add_wait);
  if (!is_one)
    report(l, "lanes of a warp in different warp functions", count, "lanes", of, add_wait);
  else if (of.count > 1 && of.all[0].function != warp_function::syncwarp &&
           of.all[0].function != warp_function::activemask)
    report(l, "lanes of a warp in different calls of a warp function", count, "lanes", of, add_wait);
}

/* Lanes that have met in a shuffle read a lane that is not among them: on GPUs, the value is undefined (CUDA Programming Guide
 * 13, 5.4.6.5).  A lane that reads itself is always among them. */
inline void unanswered(launch &l, unsigned base, offload_lanes lanes) {
  groups of;
  for (unsigned lane = 0; lane < warpSize; ++lane) {
    const waiting_thread &thread = l.threads[base + lane];
    if ((lanes >> lane & 1) && thread.function >= warp_function::shfl && !(lanes >> thread.source & 1))
      of.add(l, base + lane);
  }
  if (of.count == 0)
    return;
  auto add = [&](text &what, const group &each, const waiting_thread &first) {
    what.add("%u in %s with the mask 0x%0*llx: lane %u reads lane %u, which %s", each.count, name_of(each.function),
             warpSize / 4, (unsigned long long)first.mask, each.first % warpSize, first.source,
             !(first.mask >> first.source & 1) ? "is not in the mask"
             : base + first.source >= l.count  ? "the block does not have"
                                               : "has returned");
  };
  report(l, "a shuffle from a lane that does not take part", unsigned(__builtin_popcountll(lanes)), "lanes", of, add);
}

/* OFFLOAD_CPU_TIME_LIMIT is the maximum duration of a launch in seconds. */
inline void limit(launch &l) {
  const char *seconds = getenv("OFFLOAD_CPU_TIME_LIMIT");
  long count = seconds != nullptr ? strtol(seconds, nullptr, 10) : 0;
  l.checks->end = count > 0 ? time(nullptr) + count : 0;
}

[[noreturn]] __attribute__((noinline)) inline void takes_too_long(const launch &l) {
  const char *limit = getenv("OFFLOAD_CPU_TIME_LIMIT");
  text kind, line;
  kind.add("a kernel that does not end within %s s", limit);
  add_place(line, l.threads[l.self].last_code[1]);
  finding it;
  it.sentence.add("offload: the kernel %s takes longer than OFFLOAD_CPU_TIME_LIMIT=%s allows: ", kernel_of(l), limit);
  it.sentence.index("it is in block", blockIdx).index(", thread", threadIdx).add(", at %s", line.bytes);
  it.field("kind", kind.bytes).field("kernel", kernel_of(l));
  it.field("what", "").field("line", line.bytes).field_thread(threadIdx).print();
  end_program();
}

inline void stuck(const launch &l) {
  /* The threads may wait for lanes that do not wait for them. */
  groups outside;
  for (unsigned i = 0; i < l.count; ++i)
    if (l.threads[i].now == state::at_warp && is_outside(l, i))
      outside.add(l, i);
  if (outside.count != 0)
    report(l, not_in_mask, l.count, "threads", outside, add_wait);
  report(l, "threads that wait for each other forever", l.count, "threads", groups(l), add_wait);
}

} // namespace reports
} // namespace offload_cpu

extern "C" {

/* The linker redirects the calls of instrumented code to these functions (--wrap).  UndefinedBehaviorSanitizer reports each
 * place once, and marks it as reported in the column. */
#define OFFLOAD_CPU_WRAP(handler) OFFLOAD_CPU_WRAP_OF(handler, "undefined")
#define OFFLOAD_CPU_WRAP_OF(handler, check)                                                                            \
  __attribute__((weak)) void __real___ubsan_handle_##handler(void *, uintptr_t, uintptr_t, uintptr_t);                 \
  __attribute__((visibility("hidden"))) void __wrap___ubsan_handle_##handler(void *data, uintptr_t a, uintptr_t b,     \
                                                                             uintptr_t c) {                            \
    struct location {                                                                                                  \
      const char *file;                                                                                                \
      unsigned line, column;                                                                                           \
    } *at = static_cast<location *>(data);                                                                             \
    if (!offload_cpu::reports::is_asked_for("undefined") && !offload_cpu::reports::is_asked_for(check))                \
      return;                                                                                                          \
    offload_cpu::reports::undefined_runtime::get();                                                                    \
    bool is_new = at->column != ~0u;                                                                                   \
    __real___ubsan_handle_##handler(data, a, b, c);                                                                    \
    if (is_new)                                                                                                        \
      offload_cpu::reports::of_sanitizer(0, offload_cpu::reports::undefined_runtime::get().summary);                   \
  }
#if defined(OFFLOAD_CPU_CHECK_MEMORY) || defined(OFFLOAD_CPU_CHECK_UNDEFINED)
OFFLOAD_CPU_WRAP(add_overflow)
OFFLOAD_CPU_WRAP(sub_overflow)
OFFLOAD_CPU_WRAP(mul_overflow)
OFFLOAD_CPU_WRAP(negate_overflow)
OFFLOAD_CPU_WRAP(divrem_overflow)
OFFLOAD_CPU_WRAP(shift_out_of_bounds)
OFFLOAD_CPU_WRAP_OF(out_of_bounds, "memory")
OFFLOAD_CPU_WRAP_OF(type_mismatch_v1, "memory")
OFFLOAD_CPU_WRAP(pointer_overflow)
OFFLOAD_CPU_WRAP(load_invalid_value)
OFFLOAD_CPU_WRAP(float_cast_overflow)
OFFLOAD_CPU_WRAP(vla_bound_not_positive)
OFFLOAD_CPU_WRAP(nonnull_arg)
#endif
#undef OFFLOAD_CPU_WRAP
#undef OFFLOAD_CPU_WRAP_OF
}

/* offload/stacks.h: memory for stacks.  Part of offload/fibers.h.  On Windows, fibers have their own stacks.
 *
 * Below each stack is a guard, which must not be touched.  Since version 6.13, Linux supports guards within a mapping.  On
 * older and other systems, each guard divides the mapping, and Linux limits the mappings of a process (vm.max_map_count).  The
 * images of a process therefore share `process_stacks`.  It limits the number of stacks in use; further blocks wait.  It also
 * keeps stacks for later launches, since new ones take milliseconds for each block.
 */
#ifndef OFFLOAD_STACKS_H
#define OFFLOAD_STACKS_H

/* Not unistd.h, pthread.h and sched.h: kernels use names of their functions. */
#include <errno.h>
#if defined(__linux__)
#include <sys/auxv.h>
#endif
#include <sys/mman.h>
#include <sys/resource.h>

namespace offload_cpu {

/* Stacks of one size in one mapping.  The struct is in the mapping's last page. */
struct slab {
  slab *next;
  char *memory;
  size_t count, size, pitch, guard;
  size_t touched; /* the maximum number of bytes that are in memory */
  bool is_nested; /* used by blocks of a launch for which other blocks wait */
};

inline size_t page_size() {
#if defined(__linux__)
  return size_t(getauxval(AT_PAGESZ));
#else
  return 64 * 1024; /* a multiple of every system's page size */
#endif
}

#if defined(__linux__) && defined(__LP64__) && (defined(__x86_64__) || defined(__aarch64__))
#define OFFLOAD_CPU_FUTEX 1
/* Calls futex(2).  The C library's function is syscall, a name that kernels use. */
inline void futex(int *at, int operation, int value) {
#if defined(__x86_64__)
  long result = 202;
  register const void *timeout __asm__("r10") = nullptr;
  __asm__ volatile("syscall"
                   : "+a"(result)
                   : "D"(at), "S"(operation), "d"(value), "r"(timeout)
                   : "rcx", "r11", "memory");
#else
  register int *first __asm__("x0") = at;
  register long second __asm__("x1") = operation, third __asm__("x2") = value, number __asm__("x8") = 98;
  register const void *timeout __asm__("x3") = nullptr;
  __asm__ volatile("svc #0" : "+r"(first) : "r"(second), "r"(third), "r"(timeout), "r"(number) : "memory");
#endif
}
constexpr int futex_wait = 128, futex_wake = 129; /* within the process */
#endif

/* Waits until another thread of the operating system changes the number from `value`, or returns earlier.  On systems where
 * that thread cannot wake this one, the pause grows with each call. */
inline void sleep_while(int *number, int value, unsigned &sleeps) {
#if defined(OFFLOAD_CPU_FUTEX)
  (void)sleeps;
  futex(number, futex_wait, value);
#else
  timespec time = {0, 50000l << (sleeps < 6 ? sleeps++ : 6)};
  if (__atomic_load_n(number, __ATOMIC_RELAXED) == value)
    nanosleep(&time, nullptr);
#endif
}

/* Wakes at most `most` threads that wait for a change of this number. */
inline void wake(int *number, int most) {
#if defined(OFFLOAD_CPU_FUTEX)
  futex(number, futex_wake, most);
#else
  (void)number, (void)most;
#endif
}

struct sleeping_lock {
  int is_held; /* 2: held, and others may wait */

  void lock() {
    int was = 0;
    if (__atomic_compare_exchange_n(&is_held, &was, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
      return;
    for (unsigned sleeps = 0; __atomic_exchange_n(&is_held, 2, __ATOMIC_ACQUIRE) != 0;)
      sleep_while(&is_held, 2, sleeps);
  }
  void unlock() {
    if (__atomic_exchange_n(&is_held, 0, __ATOMIC_RELEASE) == 2)
      wake(&is_held, 1);
  }
};

/* g++ for AArch64 touches the memory of a large frame every 64 KiB, and older versions of clang touch nothing. */
constexpr size_t least_guard = sizeof(void *) < 8 ? 1 : 64 * 1024;

/* Uses MADV_GUARD_INSTALL of Linux 6.13, which headers do not define yet. */
inline bool guard_within(char *at, size_t size) {
#if defined(__linux__) && !defined(OFFLOAD_CPU_DIVIDING_GUARDS)
  return madvise(at, size, 102) == 0;
#else
  (void)at, (void)size;
  return false;
#endif
}

/* Tests a guard, since emulators accept the advice but ignore it: the system must fail to write to it. */
inline bool can_guard_within() {
  const size_t page = page_size();
  void *mapped = mmap(nullptr, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED)
    return false;
  char *at = static_cast<char *>(mapped);
  bool can = sizeof(void *) == 8 && guard_within(at, page) &&
             getrusage(RUSAGE_SELF, reinterpret_cast<rusage *>(at)) != 0 && errno == EFAULT;
  munmap(mapped, page);
  return can;
}

inline void unmap_slab(slab *it) { munmap(it->memory, it->count * it->pitch + page_size()); }

/* Returns `count` stacks of at least `least` bytes, or null. */
inline OFFLOAD_ONE_COPY slab *map_slab(size_t count, size_t least, bool guards_within) {
  /* These addresses must stay free for allocations whose failure ends the program: thread-local memory, other threads. */
  constexpr size_t spare = sizeof(void *) < 8 ? 1 << 24 : 1 << 26;
  const size_t page = page_size(), most = ~size_t(0) / 4;
  if (least > most || count > most / (least + least_guard + 4 * page))
    return nullptr;
  /* An odd number of pages: address caches (TLBs) choose a slot by the last bits of a page's number. */
  const size_t size = (least + page - 1) / page * page;
  const size_t pitch = ((size + least_guard + 2 * page - 1) / page * page) | page;
  /* Stacks begin within a page, not at its end. */
  const size_t guard = pitch - size - page, all = count * pitch;
  int flags = MAP_PRIVATE | MAP_ANONYMOUS;
#if defined(MAP_NORESERVE)
  flags |= MAP_NORESERVE;
#endif
  void *mapped = mmap(nullptr, all + page + spare, PROT_READ | PROT_WRITE, flags, -1, 0);
  if (mapped == MAP_FAILED)
    return nullptr;
  char *memory = static_cast<char *>(mapped);
  munmap(memory + all + page, spare);
#if defined(MADV_NOHUGEPAGE)
  /* A thread that touches little of its stack must not get 2 MiB. */
  (void)madvise(memory, all, MADV_NOHUGEPAGE);
#endif
  slab *made = reinterpret_cast<slab *>(memory + all);
  *made = {nullptr, memory, count, size, pitch, guard, 0, false};
  for (size_t i = 0; i < count; ++i) {
    char *at = memory + i * pitch;
    if (!(guards_within && guard_within(at, guard)) && mprotect(at, guard, PROT_NONE) != 0) {
      unmap_slab(made);
      return nullptr;
    }
  }
  return made;
}

/* Returns the page faults of this thread, at least those on stacks. */
inline size_t faults() {
  rusage used = {};
#if defined(RUSAGE_THREAD)
  getrusage(RUSAGE_THREAD, &used);
#else
  getrusage(RUSAGE_SELF, &used);
#endif
  return size_t(used.ru_minflt);
}

inline size_t number_in(const char *path, size_t otherwise) {
  FILE *file = fopen(path, "re");
  size_t number;
  if (file == nullptr)
    return otherwise;
  if (fscanf(file, "%zu", &number) != 1)
    number = otherwise;
  fclose(file);
  return number;
}

inline size_t most_mappings() { return number_in("/proc/sys/vm/max_map_count", 65530); }

/* Returns the limit of the process's address space in bytes; 0 for none. */
inline size_t most_addresses() {
  rlimit limit = {};
  return getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ? 0 : size_t(limit.rlim_cur);
}

/* The stacks of all launches of a process.  The program owns the memory, zeroed at first, since images may be unloaded. */
struct process_stacks {
  static constexpr size_t most_idle = 65536, most_touched = size_t(1) << 28;
  static constexpr int own_layout = 3;

  int process; /* the process ID, negative during initialization; after a fork, the child initializes again */
  int layout;  /* the version of the layout of this struct and the slabs */
  bool guards_within, keeps;
  size_t most; /* the maximum number of stacks; first stacks are not counted */

  static size_t counted(size_t count) { return count == 1 ? 0 : count; }

  /* Counts for all launches (used), and for nested launches. */
  struct number {
    size_t slabs, stacks;

    void add(const slab &it) {
      ++slabs;
      stacks += counted(it.count);
    }
    void remove(const slab &it) {
      /* A child that was forked in a kernel has lower counts. */
      slabs -= slabs != 0;
      stacks -= stacks < counted(it.count) ? stacks : counted(it.count);
    }
  } used, nested;
  size_t idle_count, idle_touched[2]; /* [0]: blocks' stacks; [1]: first stacks, with all bytes counted as touched */
  slab *idle;
  sleeping_lock waiting, lock; /* waiting: held by the one launch that waits for returned stacks; lock: protects this struct */
  int returns;                 /* changes when stacks are returned and launches wait for them */
  bool are_awaited;

  /* Returns the stacks in this memory, or null if this image cannot use them. */
  static process_stacks *begin(void *memory, size_t size, int process) {
    /* AddressSanitizer remembers earlier variables on a stack, and ThreadSanitizer orders launches by shared locks. */
#if defined(OFFLOAD_CPU_CHECK) || defined(OFFLOAD_CPU_ASAN)
    size = 0;
#endif
    if (memory == nullptr || size < sizeof(process_stacks))
      return nullptr;
    process_stacks *all = static_cast<process_stacks *>(memory);
    all->begin(process);
    return all->layout == own_layout ? all : nullptr;
  }

  void begin(int own) {
    unsigned sleeps = 0;
    for (int was; (was = __atomic_load_n(&process, __ATOMIC_ACQUIRE)) != own;) {
      if (was == -own)
        sleep_while(&process, was, sleeps);
      if (was == -own || !__atomic_compare_exchange_n(&process, &was, -own, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
        continue;
      waiting = lock = {};
      used = nested = {0, 0};
      idle_count = idle_touched[0] = idle_touched[1] = 0;
      idle = nullptr;
      returns = 0;
      are_awaited = false;
      layout = own_layout;
      guards_within = can_guard_within();
      /* A stack and its guard are two mappings.  Half of all mappings are for blocks, a quarter for launches by blocks. */
      most = guards_within ? size_t(1) << 30 : most_mappings() / 4;
      /* If addresses are limited, or the system counts all addresses as memory, other code may need them. */
      keeps = most_addresses() == 0 && number_in("/proc/sys/vm/overcommit_memory", 0) != 2;
      __atomic_store_n(&process, own, __ATOMIC_RELEASE);
      wake(&process, INT_MAX);
    }
  }

  slab *take_idle(slab **at) {
    slab *it = *at;
    *at = it->next;
    idle_count -= it->count;
    idle_touched[it->count == 1] -= it->touched;
    return it;
  }

  slab *find_idle(size_t count, size_t least) {
    slab **best = nullptr;
    const size_t page = page_size();
    for (slab **at = &idle; *at != nullptr; at = &(*at)->next) {
      slab *it = *at;
      if (it->size < least || it->size - least >= page || it->count < count || (it->count == 1) != (count == 1))
        continue;
      if (best == nullptr || it->count < (*best)->count)
        best = at;
      if (it->count == count)
        break;
    }
    return best != nullptr ? take_idle(best) : nullptr;
  }

  void count_used(const slab &it) {
    used.add(it);
    if (it.is_nested)
      nested.add(it);
  }

  /* These stacks are no longer used.  Launches that wait may now get theirs. */
  void count_returned(const slab &it) {
    used.remove(it);
    if (it.is_nested)
      nested.remove(it);
    if (are_awaited) {
      are_awaited = false;
      __atomic_store_n(&returns, int(unsigned(returns) + 1), __ATOMIC_RELAXED);
      wake(&returns, INT_MAX);
    }
  }

  /* Returns null if the system has no room for the stacks.  `depth` launches wait for this one.  A launch of depth 0 waits for
   * stacks of all launches; one of depth 1 only for those of nested launches, which do not wait for it.  Deeper launches do not
   * wait.  The owner of a first stack may wait for a block's, so only first stacks wait for first stacks. */
  slab *take(size_t count, size_t least, unsigned depth) {
    const size_t added = counted(count), limit = depth != 0 ? most / 2 * 3 : most;
    const bool queues = depth == 0 && added != 0;
    if (queues)
      waiting.lock();
    lock.lock();
    /* Counted while the system makes the stacks, which takes a long time. */
    const slab own = {nullptr, nullptr, count, 0, 0, 0, 0, depth != 0};
    slab *found;
    unsigned sleeps = 0;
    while ((found = find_idle(count, least)) == nullptr) {
      if (used.stacks == 0 || added == 0 || used.stacks + added <= limit) {
        while (idle != nullptr && used.stacks + idle_count + added > most)
          unmap_slab(take_idle(&idle));
        count_used(own);
        lock.unlock();
        found = map_slab(count, least, guards_within);
        lock.lock();
        count_returned(own);
        if (found != nullptr)
          break;
        if (idle != nullptr) {
          while (idle != nullptr)
            unmap_slab(take_idle(&idle));
          continue;
        }
      }
      const auto &others = depth == 0 ? used : nested;
      if (depth > 1 || (added == 0 ? others.slabs : others.stacks) == 0)
        break;
      are_awaited = true;
      const int before = returns;
      lock.unlock();
      sleep_while(&returns, before, sleeps);
      lock.lock();
    }
    if (found != nullptr) {
      found->is_nested = depth != 0;
      count_used(*found);
    }
    lock.unlock();
    if (queues)
      waiting.unlock();
    return found;
  }

  void give_back(slab *it) {
    lock.lock();
    count_returned(*it);
    if (!keeps || idle_count + it->count > most_idle || used.stacks + idle_count + it->count > most) {
      unmap_slab(it);
    } else {
      size_t &touched = idle_touched[it->count == 1];
      if (touched + it->touched > most_touched) {
        (void)madvise(it->memory, it->count * it->pitch, MADV_DONTNEED);
        it->touched = 0;
      }
      idle_count += it->count;
      touched += it->touched;
      it->next = idle;
      idle = it;
    }
    lock.unlock();
  }
};

/* Writes the limits that may be the reason for missing stacks. */
template <size_t Size> const char *describe_limits(char (&text)[Size], const process_stacks *all) {
  char addresses[48] = "any number of";
  if (size_t most = most_addresses())
    snprintf(addresses, sizeof addresses, "%llu KiB of", (unsigned long long)(most / 1024));
  snprintf(text, Size,
           " The system allows this process %s addresses (ulimit -v) and %llu mappings (vm.max_map_count); other blocks "
           "have %llu stacks.",
           addresses, (unsigned long long)most_mappings(), (unsigned long long)(all != nullptr ? all->used.stacks : 0));
  return text;
}

/* The stacks of one launch. */
struct stack_pool {
  slab *from;
  process_stacks *all;
  size_t size, made, faults_before;
  /* A list of stacks that were used before: the uppermost bytes of each, which are in memory, contain the next one. */
  char *idle;

  char *&next_of(char *stack) const { return *reinterpret_cast<char **>(stack + size - sizeof(char *)); }

  /* Reserves stacks of at least `least` bytes, from the process's shared stacks or from a new mapping. */
  OFFLOAD_ONE_COPY bool reserve(size_t stacks, size_t least, process_stacks *of = nullptr, unsigned depth = 0) {
    all = of;
    faults_before = all != nullptr && stacks > 1 ? faults() : 0;
    /* Blocks of about the same size can reuse each other's stacks. */
    const size_t count = stacks == 1 ? 1 : (stacks + 31) / 32 * 32;
    from = all != nullptr ? all->take(count, least, depth) : map_slab(count, least, can_guard_within());
    if (from != nullptr)
      size = from->size;
    return from != nullptr;
  }

  /* Returns the lowest address of a stack of `size` bytes. */
  char *take() {
    if (idle == nullptr)
      return bottom(made++);
    char *stack = idle;
    idle = next_of(stack);
    return stack;
  }

  /* The stack with this number, for callers that use each stack once. */
  char *of(size_t number) { return bottom(number); }

  /* Stacks begin at different offsets in their pages: otherwise, their first bytes would share the same lines of a cache. */
  char *bottom(size_t number) const { return from->memory + (number + 1) * from->pitch - size - number * 320 % 4096; }

  /* Returns the stack whose guard contains this address, or null. */
  char *of_guard(const void *address) const {
    if (from == nullptr)
      return nullptr;
    size_t offset = reinterpret_cast<size_t>(address) - reinterpret_cast<size_t>(from->memory);
    bool is_guard = offset < from->count * from->pitch && offset % from->pitch < from->guard;
    return is_guard ? bottom(offset / from->pitch) : nullptr;
  }

  void give_back(char *stack) {
    next_of(stack) = idle;
    idle = stack;
  }

  OFFLOAD_ONE_COPY void release() {
    if (from != nullptr && all == nullptr) {
      unmap_slab(from);
    } else if (from != nullptr) {
      /* For a single stack, it is not worth counting page faults. */
      from->touched = from->count == 1 ? size : from->touched + (faults() - faults_before) * page_size();
      all->give_back(from);
    }
    *this = {};
  }
};

} // namespace offload_cpu

#endif

/* offload/check_races.h: what is concurrent for ThreadSanitizer.  Part of offload/checks.cpp.
 *
 * For ThreadSanitizer, each thread of a block is a fiber with its own stack.  A switch of stacks orders nothing.  These events
 * order accesses:
 *
 *   the start of a launch    after what the caller did, and after all launches that had ended before the call
 *   the end of a launch      after all threads of the grid
 *   a barrier                all threads of the block
 *   __syncwarp               the lanes of its mask
 *
 * Shuffles, votes and __activemask order nothing: CUDA and HIP document that they are not memory barriers.
 *
 * Fibers are expensive to make (0.8 ms and 0.8 MB in GCC 12), so sets of them are reused.  Everything that one set runs is
 * ordered, which hides races.  Consecutive blocks therefore use different sets, and so do launches on different threads of the
 * operating system, until there are too many fibers.
 */

#if defined(OFFLOAD_CPU_CHECK_RACES)
extern "C" {
void *__tsan_get_current_fiber(void);
void *__tsan_create_fiber(unsigned flags);
void __tsan_destroy_fiber(void *fiber);
void __tsan_switch_to_fiber(void *fiber, unsigned flags);
void __tsan_set_fiber_name(void *fiber, const char *name);
void __tsan_acquire(void *edge);
void __tsan_release(void *edge);
void AnnotateIgnoreReadsBegin(const char *file, int line);
void AnnotateIgnoreReadsEnd(const char *file, int line);
void AnnotateIgnoreWritesBegin(const char *file, int line);
void AnnotateIgnoreWritesEnd(const char *file, int line);
}
#endif

namespace offload_cpu {

/* While an object of this type exists, accesses by this thread are not the kernel's. */
struct unseen {
#if defined(OFFLOAD_CPU_CHECK_RACES)
  unseen() {
    AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
    AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
  }
  ~unseen() {
    AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
    AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
  }
#else
  unseen() {}
  ~unseen() {}
#endif
  unseen(const unseen &) = delete;
};

#if defined(OFFLOAD_CPU_CHECK_RACES)
/* Fibers with their stacks, made when they are needed. */
struct fiber_set {
  static constexpr unsigned most = 1024;
  void *fibers[most];
  /* For each fiber, the number of the launch whose threads it ran last. */
  uint64_t launches[most];
  unsigned made;
  stack_pool stacks;
  pthread_t owner;
  unsigned number;
  uint64_t last_used;
  bool is_busy;
  fiber_set *next;

  /* Beyond so many fibers, sets of any owner are reused.  GCC up to 12 needs 0.8 MB for each and supports 8128 at a time. */
#if defined(__clang__) || __GNUC__ >= 13
  static constexpr unsigned wanted_in_all = 6000;
#else
  static constexpr unsigned wanted_in_all = 2560;
#endif
  static constexpr unsigned most_in_all = 8000;

  static void destroy(process_checks &all, fiber_set &set) {
    for (; set.made != 0; --all.fibers)
      __tsan_destroy_fiber(set.fibers[--set.made]);
    set.stacks.release();
  }

  /* Finds or makes a set; null if there is no memory.  The launches of one thread of the operating system are ordered anyway,
   * so each begins with the first of the thread's sets. */
  static fiber_set *find(process_checks &all, unsigned count, unsigned number) {
    fiber_set *found = nullptr, *oldest = nullptr, *largest = nullptr;
    for (fiber_set *set = all.sets; set != nullptr; set = set->next) {
      if (set->is_busy)
        continue;
      if (set->number == number && pthread_equal(set->owner, pthread_self()))
        found = set;
      if (set->made >= count && (oldest == nullptr || set->last_used < oldest->last_used))
        oldest = set;
      if (largest == nullptr || set->made > largest->made)
        largest = set;
    }
    const unsigned made = found != nullptr ? found->made : 0;
    if (made < count && all.fibers + count - made > wanted_in_all && largest != nullptr)
      return oldest != nullptr ? oldest : largest;
    if (found == nullptr && (found = static_cast<fiber_set *>(calloc(1, sizeof(fiber_set)))) != nullptr) {
      found->next = all.sets;
      all.sets = found;
    }
    return found;
  }

  /* Returns a set for this block, or null if the launch is refused. */
  static fiber_set *take(launch &l, unsigned block) {
    const unsigned count = l.count;
    if (count > most)
      fail("a block has more than 1024 threads, which no GPU runs");
    process_checks &all = *l.checks->process;
    const unsigned number = block % (count <= 32 ? 8 : count <= 128 ? 4 : 2);
    fiber_set *found = find(all, count, number);
    /* Another image may have smaller stacks. */
    const size_t size = 2 * checked_stack;
    if (found != nullptr && found->stacks.from != nullptr && found->stacks.size < size)
      found->stacks.release();
    if (found == nullptr || (found->stacks.from == nullptr && !found->stacks.reserve(most, size))) {
      refuse_stacks(l, most, size);
      return nullptr;
    }
    found->is_busy = true;
    const unsigned more = found->made < count ? count - found->made : 0;
    for (fiber_set *set = all.sets; set != nullptr && all.fibers + more > most_in_all; set = set->next)
      if (!set->is_busy)
        destroy(all, *set);
    if (all.fibers + more > most_in_all)
      fail("too many threads at a time for ThreadSanitizer: a kernel launches kernels that launch others");
    found->owner = pthread_self();
    found->number = number;
    found->last_used = ++all.uses;
    for (; found->made < count; ++all.fibers)
      found->fibers[found->made++] = __tsan_create_fiber(0);
    return found;
  }
};

/* Frees the image's own fibers when it is unloaded: ThreadSanitizer ends a program with 8128 fibers. */
__attribute__((destructor)) static void give_back_fibers() {
  process_checks &own = process_checks::own;
  if (own.depth != 0)
    return;
  while (fiber_set *set = own.sets) {
    own.sets = set->next;
    fiber_set::destroy(own, *set);
    free(set);
  }
}

/* Each block has `edges` addresses by which its threads are ordered.  Edge 0 is none.  Barriers use 1 and 2 in turn, since a
 * thread may reach the next barrier before another has left this one.  Calls of __syncwarp use the edges of their warp in turn:
 * an edge is reused too early only if a lane goes on much later than the others. */
namespace races {
constexpr unsigned of_warp = warpSize / 2, first_of_warps = 3;
constexpr size_t edges = first_of_warps + 1024 / warpSize * of_warp, pitch = 8;

/* The address by which launches of all images are ordered: all images can find this one. */
inline void *launches() { return &environ; }

/* Called before a launch waits for its turn: launches that still run then are not ordered before it. */
inline void before_launch() { __tsan_acquire(launches()); }

inline void launch_begins(launch &l) {
  l.checks->number = ++l.checks->process->launches;
  l.checks->home = __tsan_get_current_fiber();
  __tsan_release(&l.checks->started);
}

constexpr unsigned no_sync = 1;

inline void launch_ended(launch &l) {
  /* Once for each fiber is enough: whatever is after the fiber's last thread is after its earlier threads, too. */
  for (fiber_set *set = l.checks->process->sets; set != nullptr; set = set->next)
    for (unsigned i = 0; i < set->made; ++i)
      if (set->launches[i] == l.checks->number) {
        __tsan_switch_to_fiber(set->fibers[i], no_sync);
        __tsan_release(&l.checks->ended);
        __tsan_switch_to_fiber(l.checks->home, no_sync);
      }
  __tsan_acquire(&l.checks->ended);
  __tsan_release(launches());
}

/* LLVM's runtime since 14 and GCC's since 13 have 255 slots for threads.  A fiber whose slot was given to another goes on under
 * its old identity: until it releases something, its accesses seem to precede the other's.  So each fiber releases when it may
 * have lost its slot, and nothing acquires that.  A race between two fibers that used one slot in turn may still be missed. */
inline void take_slot(launch &l) {
#if defined(__clang__) || __GNUC__ >= 13
  __tsan_release(&l.checks->nobodys);
#else
  (void)l;
#endif
}

inline void block_begins(launch &l) {
  l.checks->edges = nullptr;
  l.checks->set = fiber_set::take(l, l.checks->blocks++);
  if (l.is_refused)
    return;
  l.stacks = l.checks->set->stacks;
  {
    /* Allocated for each block: a reused address would order this block after the earlier users. */
    unseen guard;
    l.checks->edges = static_cast<char *>(malloc(edges * pitch));
  }
  if (l.checks->edges == nullptr)
    fail("no memory for the order of the threads of a block");
}

inline void block_ended(launch &l) {
  unseen guard;
  free(l.checks->edges);
  if (l.checks->set == nullptr)
    return;
  l.checks->set->stacks = l.stacks;
  l.stacks = {};
  l.checks->set->is_busy = false;
}

inline char *put(char *to, const char *text) {
  for (; *text != 0; ++text)
    *to++ = *text;
  return to;
}

inline char *put(char *to, unsigned number) {
  char digits[10];
  unsigned count = 0;
  do
    digits[count++] = char('0' + number % 10);
  while ((number /= 10) != 0);
  while (count != 0)
    *to++ = digits[--count];
  return to;
}

inline char *put(char *to, const dim3 &index) {
  to = put(put(to, "("), index.x);
  to = put(put(to, ","), index.y);
  return put(put(put(to, ","), index.z), ")");
}

inline void thread_begins(launch &l) {
  /* ThreadSanitizer keeps 63 bytes of a name. */
  char name[160];
  char *end = put(put(name, "block "), blockIdx);
  end = put(put(end, " thread "), threadIdx);
  end = put(end, " of ");
  const char *kernel = l.kernel != nullptr ? l.kernel : "a kernel";
  while (end < name + sizeof name - 1 && *kernel != 0)
    *end++ = *kernel++;
  *end = 0;
  fiber_set &set = *l.checks->set;
  __tsan_set_fiber_name(set.fibers[l.self], name);
  if (set.launches[l.self] != l.checks->number) {
    set.launches[l.self] = l.checks->number;
    __tsan_acquire(&l.checks->started);
  }
  take_slot(l);
}

inline void enter(launch &l) { __tsan_switch_to_fiber(l.checks->set->fibers[l.self], no_sync); }
inline void leave(launch &l) { __tsan_switch_to_fiber(l.checks->home, no_sync); }

inline check::edge barrier_edge(launch &l) { return 1 + (l.threads[l.self].barriers++ & 1); }

inline check::edge warp_edge(launch &l, warp_function function, offload_lanes mask) {
  if (function != warp_function::syncwarp)
    return 0;
  unsigned warp = l.self / warpSize, base = warp * warpSize;
  waiting_thread &mine = l.threads[l.self];
  for (unsigned i = base; i < l.count && i < base + warpSize; ++i) {
    const waiting_thread &other = l.threads[i];
    if (i != l.self && other.now == state::at_warp && other.function == function && other.mask == mask)
      return mine.edge = other.edge;
  }
  return mine.edge = first_of_warps + warp * of_warp + l.checks->groups[warp]++ % of_warp;
}

inline void releases(launch &l, check::edge by) {
  if (by != 0)
    __tsan_release(l.checks->edges + by * pitch);
}
inline void acquires(launch &l, check::edge by) {
  if (by != 0)
    __tsan_acquire(l.checks->edges + by * pitch);
  take_slot(l);
}
} // namespace races
#else
struct fiber_set {};
namespace races {
inline void before_launch() {}
inline void launch_begins(launch &) {}
inline void launch_ended(launch &) {}
inline void block_begins(launch &) {}
inline void block_ended(launch &) {}
inline void thread_begins(launch &) {}
inline void enter(launch &) {}
inline void leave(launch &) {}
inline check::edge barrier_edge(launch &) { return 0; }
inline check::edge warp_edge(launch &, warp_function, offload_lanes) { return 0; }
inline void releases(launch &, check::edge) {}
inline void acquires(launch &, check::edge) {}
} // namespace races
#endif

} // namespace offload_cpu

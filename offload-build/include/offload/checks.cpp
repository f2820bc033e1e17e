/* offload/checks.cpp: runs the blocks of a checked build (OFFLOAD_CPU_CHECK).  offload-build links it with the kernels.
 *
 * It is compiled without a sanitizer, and calls the public functions of the sanitizers' runtimes.  Its parts are:
 *
 *   check_shared.h   the memory of __shared__ variables, separate for each block, between zones that must not be touched
 *   check_races.h    what is concurrent for ThreadSanitizer, and what orders it
 *   check_reports.h  which kernel, block and thread a finding is about; barriers that not all threads reach
 *   check_ends.h     kernels that end the process, or need more stack than a thread has
 */
#if !defined(OFFLOAD_CPU_CHECK_RUNTIME)
#error "offload/checks.cpp is compiled by offload-build"
#endif

#include <cxxabi.h>
#include <dlfcn.h>
#include <elf.h>
#include <exception>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <unwind.h>

namespace offload_cpu {

/* The additional data of a launch in a checked build. */
struct checked_launch {
  unsigned findings;
  unsigned told_count;
  uint64_t told[64]; /* the places of findings about barriers and warps: see reports::is_new */
  struct process_checks *process;
  struct shared_memory *shared;
  struct fiber_set *set;
  unsigned blocks; /* the number of blocks that have begun */
  uint64_t number; /* unique among the launches of the process */
  unsigned groups[1024 / warpSize]; /* how often lanes of each warp have met in __syncwarp */
  void *home;   /* ThreadSanitizer's name for the stack of the launch's caller */
  char *edges;  /* the block's addresses, one for each edge; see check_races.h */
  alignas(8) char started; /* all threads of the grid are ordered after it */
  alignas(8) char ended;   /* is ordered after all threads of the grid */
  alignas(8) char nobodys; /* see races::take_slot */
  time_t end;   /* when the launch is ended, if there is a limit; else 0 */
};

/* What launches have in common.  With ThreadSanitizer, the images of a process share it, since fibers are limited. */
struct process_checks {
  static constexpr int own_layout = 1;
  static process_checks own;

  int layout; /* the version of the layout of this struct and the sets */
  /* One grid runs at a time, so that findings do not depend on chance, but a thread of it may launch another.  A lock of
   * pthread is not used: ThreadSanitizer would order the launches that wait for it. */
  bool is_taken;
  unsigned depth;
  pthread_t holder;
  /* See check_races.h. */
  unsigned fibers;
  uint64_t launches, uses;
  struct fiber_set *sets;

  /* Unchecked images use the first half of the settings' memory. */
  static process_checks *of(const offload_cpu_settings *settings) {
#if defined(OFFLOAD_CPU_CHECK_RACES)
    static_assert(sizeof(process_stacks) <= 256 && sizeof(process_checks) <= 256);
    if (settings != nullptr && settings->size >= sizeof *settings && settings->stacks_size >= 512) {
      auto *shared = reinterpret_cast<process_checks *>(static_cast<char *>(settings->stacks) + 256);
      int was = 0;
      __atomic_compare_exchange_n(&shared->layout, &was, own_layout, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
      if (was == 0 || was == own_layout)
        return shared;
    }
#endif
    (void)settings;
    return &own;
  }

  bool is_mine() const { return __atomic_load_n(&depth, __ATOMIC_ACQUIRE) != 0 && pthread_equal(holder, pthread_self()); }
  void take() {
    if (!is_mine()) {
      while (__atomic_exchange_n(&is_taken, true, __ATOMIC_ACQUIRE))
        sched_yield();
      holder = pthread_self();
    }
    __atomic_store_n(&depth, depth + 1, __ATOMIC_RELEASE);
  }
  void give() {
    unsigned left = depth - 1;
    __atomic_store_n(&depth, left, __ATOMIC_RELEASE);
    if (left == 0)
      __atomic_store_n(&is_taken, false, __ATOMIC_RELEASE);
  }
};
inline process_checks process_checks::own;

/* Whether a kernel of this image runs on this thread of the operating system. */
inline bool is_running() { return current != nullptr && current->checks != nullptr && current->checks->process->is_mine(); }

} // namespace offload_cpu

#include "check_races.h"
#include "check_shared.h"

#include "check_reports.h"

#include "check_ends.h"

/* What a program needs to know before it loads the image: offload-build passes the text, and `offload_pack::checks` finds it
 * among the image's bytes. */
extern "C" __attribute__((visibility("default"), used)) const char offload_cpu_check[] = OFFLOAD_CPU_CHECK_SAYS;

/* A second image for other checks, after its size: offload_gpu::run chooses by the sanitizer in the program. */
#if defined(OFFLOAD_CPU_CHECK_INSIDE)
__asm__(".pushsection .offload_inside,\"a\",@progbits\n"
        ".ascii \"offload-cpu-inside 1\\n\"\n"
        ".quad 2f - 1f\n"
        "1: .incbin \"" OFFLOAD_CPU_CHECK_INSIDE "\"\n"
        "2:\n"
        ".popsection\n");
#endif

namespace offload_cpu {

void fence() {
  if (current != nullptr && current->threads != nullptr)
    current->threads[current->self].has_fenced = true;
}

bool has_fenced() {
  return current != nullptr && current->threads != nullptr && current->threads[current->self].has_fenced;
}

void trap(const char *how, code_place at) {
  reports::end_at(how, at);
  __real_abort();
}

namespace check {

/* The number of running launches. */
static unsigned launches_of_image;

void launch_begins(launch &l, const offload_cpu_settings *settings) {
  races::before_launch();
  unseen guard;
  l.checks = static_cast<checked_launch *>(calloc(1, sizeof(checked_launch)));
  if (l.checks == nullptr)
    fail("no memory for the checks of a launch");
  if (l.in_order == order::any)
    l.in_order = order::forward;
  l.checks->process = process_checks::of(settings);
  l.checks->process->take();
  ++launches_of_image;
  reports::begin();
  reports::watch_death(true);
  reports::limit(l);
  races::launch_begins(l);
}

unsigned launch_ended(launch &l) {
  races::launch_ended(l);
  unsigned findings = l.checks->findings;
  unseen guard;
  process_checks *process = l.checks->process;
  free(l.checks);
  l.checks = nullptr;
  if (--launches_of_image == 0)
    reports::watch_death(false);
  process->give();
  return findings;
}

void block_begins(launch &l) {
  shared_memory::begin(l);
  races::block_begins(l);
}

void block_ended(launch &l) {
  races::block_ended(l);
  shared_memory::end(l);
}

void thread_begins(launch &l) {
  waiting_thread &mine = l.threads[l.self];
  mine.barriers = 0;
  mine.has_fenced = false;
  mine.last_code[0] = mine.last_code[1] = nullptr;
  races::thread_begins(l);
}

void enter(launch &l) { races::enter(l); }
void leave(launch &l) { races::leave(l); }
edge barrier_edge(launch &l) { return races::barrier_edge(l); }
edge warp_edge(launch &l, warp_function function, offload_lanes mask) { return races::warp_edge(l, function, mask); }
void releases(launch &l, edge by) { races::releases(l, by); }
void acquires(launch &l, edge by) { races::acquires(l, by); }

void warp_is_complete(launch &l, unsigned base, offload_lanes lanes) {
  reports::mismatch(l, base, lanes);
  reports::unanswered(l, base, lanes);
}
void barrier_is_complete(launch &l) { reports::divergence(l); }
void never_goes_on(const launch &l) { reports::stuck(l); }
void *dynamic_shared(launch &l) { return shared_memory::dynamic(l); }
void no_dynamic_shared(launch &, const code_place &at) { reports::no_dynamic_shared(at); }
void thrown(void *exception) { reports::thrown(exception); }

} // namespace check
} // namespace offload_cpu

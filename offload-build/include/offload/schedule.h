/* offload/schedule.h: blocks and their threads, run on the CPU.  Part of offload/cpu.h.
 *
 * A launch runs the grid block after block, on the calling thread of the operating system.  A plain loop, on its own stack,
 * runs the threads of a block one after another.  If a thread has to wait, at a barrier or in a warp function, it stays on its
 * stack, and the next thread runs on another stack (offload/fibers.h).  The loop is in the kernel's entry (offload/entry.h), so
 * that the compiler can inline the kernel.  If an order was requested, and in checked builds, offload/order.h runs the blocks
 * instead.
 *
 * Nothing waits for threads that have returned: a barrier waits for the rest of the block, a warp function for the rest of its
 * mask.  If threads wait for each other forever, the program ends with a message.
 */
#ifndef OFFLOAD_SCHEDULE_H
#define OFFLOAD_SCHEDULE_H

#include "fibers.h"

OFFLOAD_CPU_OWN dim3 threadIdx, blockIdx, blockDim, gridDim;

extern "C" {
/* The data of a block that regions use.  offload-build relies on the layout. */
struct offload_cpu_frame {
  void *const *addresses; /* of the arguments */
  char *arrays;           /* of what each thread keeps while it waits */
  size_t stride;          /* elements of each array, at least one for each thread */
  unsigned *next;         /* the wait that each thread has reached; 0: it has returned */
  uint64_t *value, *result, *mask; /* as offload_cpu_value and its kin, for each thread */
  unsigned *source;
  unsigned dimensions[9]; /* blockIdx, blockDim, gridDim */
};

/* Runs some threads of the block.  Returns the least wait that they reached and, in the upper 32 bits, the greatest. */
typedef uint64_t offload_cpu_region(const offload_cpu_frame *, unsigned from, unsigned to);

/* An array over the threads, with equal elements for all threads that run together. */
struct offload_cpu_uniform {
  size_t offset; /* in bytes of each thread */
  size_t size;
};

/* Describes a kernel that offload-build could cut, in a section of the image. */
struct offload_cpu_regions {
  void (*entry)(void *); /* of the kernel; its context is the addresses of the arguments */
  size_t bytes;          /* of each thread in the arrays */
  offload_cpu_region *const *run; /* region 0 begins the kernel, region n goes on after wait n */
  const unsigned char *kinds;     /* of wait n: 0: a barrier, 1: one that counts, 2 and more: a warp function, 255: a turn */
  size_t least;      /* threads in a row; a later entry of the section may be for fewer */
  size_t uniform_count;
  const offload_cpu_uniform *uniforms;
};
}

extern "C" {
/* Settings of a grid, for offload_cpu_launch_with. */
struct offload_cpu_settings {
  size_t size;        /* of this struct: later versions have more in it */
  const char *kernel; /* the name, for messages; or null */
  unsigned order;     /* an offload_cpu::order */
  uint64_t seed;      /* of a random one */
  /* Receives the numbers of the running block and its running thread, if an order is set; or null. */
  volatile uint64_t *progress;
  /* Memory for offload_cpu::process_stacks, and from byte 256 for process_checks, which all images of the process share; zeroed
   * before the first image gets it. */
  void *stacks;
  size_t stacks_size;
  int process; /* the process ID: after a fork, the child makes its own stacks */
  /* Empty; receives the reason if the system cannot run the launch.  If it is null, the program ends instead. */
  char *refusal;
  size_t refusal_size;
  unsigned depth; /* the number of launches that wait for this one, which a kernel started */
};
}

#if defined(__ELF__) && !defined(OFFLOAD_CPU_CHECK)
/* The memory of this thread of the operating system for arrays that kernels declare with `extern __shared__`, and its
 * size.  offload-build defines it in images with such arrays. */
extern "C" __attribute__((weak, visibility("hidden"))) char *offload_cpu_extern_shared(size_t *size);
#endif

namespace offload_cpu {

using warp_function = offload_warp_function;

#if defined(OFFLOAD_CPU_CHECK)
/* A message has already reported why the program ends. */
inline bool is_ending = false;
#endif

/* Ends the program after a message. */
[[noreturn]] inline void end_program() {
#if defined(OFFLOAD_CPU_CHECK)
  is_ending = true;
#endif
  abort();
}

#if OFFLOAD_CPU_FIBERS
enum class state : unsigned char { started, ready, at_barrier, at_warp, returned };

/* A thread of a block in which a thread had to wait. */
struct waiting_thread {
  place resume;
  waiting_thread *next_ready;
  dim3 index;
  state now;
  warp_function function; /* that it waits in */
  offload_lanes mask;
  unsigned source;
  uint64_t value, result;
#if defined(OFFLOAD_CPU_CHECK)
  code_place at;        /* of the call that waits */
  unsigned barriers;    /* that it has come to */
  unsigned edge;        /* of the __syncwarp that it waits in */
  bool has_fenced;
  void *last_code[2];   /* the last two places in its code, in checks that follow them */
#endif
};
#endif

/* The order of blocks and, between barriers, of the threads of a block.  `any` is the fastest order. */
enum class order : unsigned { any, forward, reverse, random };

#if defined(OFFLOAD_CPU_CHECK)
struct checked_launch;
#endif

/* The data of a launch that runs regions. */
struct region_launch {
  const offload_cpu_regions *of; /* or null */
  offload_cpu_frame frame;
  void *arrays;
  bool is_apart;             /* threads of the block have reached different waits */
  unsigned region, from, to; /* what runs */
  uint64_t came_to;          /* what it returned */
};

struct launch {
  /* Runs the thread with the index threadIdx.  Unless the block is split, it may also run later threads: threadIdx is then the
   * index of the last one. */
  void (*thread)(void *);
  void *context;
  const char *kernel; /* the name, for messages; or null */
  char *shared;
  size_t shared_size;
  unsigned count;    /* threads in a block */
  /* Once the block is split: */
  unsigned next;     /* the first that has not started */
  dim3 upcoming;     /* its index */
  unsigned self;     /* the one that runs */
  unsigned returned; /* including those before the block was split */
  bool split;        /* whether a thread of this block had to wait */
  dim3 *index;       /* the address of threadIdx, which is slow to find */
  order in_order;
  uint64_t seed, block_number;
  volatile uint64_t *progress;
  uint64_t first_block, end_block;
  char *refusal;
  size_t refusal_size;
  bool is_refused;
#if OFFLOAD_CPU_FIBERS
  waiting_thread *threads;
  waiting_thread *first_ready, *last_ready;
  unsigned at_barrier, at_warp, votes;
  process_stacks *all_stacks;
  unsigned depth;
  stack_pool first_stack, stacks;
  size_t lacking;    /* the size of the stack that has no room left */
  uintptr_t begins;  /* where the first stack was when the launch began */
  char *starting;
  place caller; /* where the loop over the blocks goes on when no thread is on its stack */
  place home;   /* where the caller of the launch waits */
  place never;  /* where stacks that have ended were left */
  region_launch by;
#endif
#if defined(OFFLOAD_CPU_CHECK)
  checked_launch *checks;
#endif
};

OFFLOAD_CPU_OWN launch *current = nullptr;

/* The beginning of messages: "in the kernel scale, ", or nothing. */
struct in_kernel {
  char text[512] = "";
  in_kernel() {
    const char *name = current != nullptr ? current->kernel : nullptr;
    /* Tools put a number before the name: "#3 scale". */
    const char *number = name != nullptr && *name == '#' ? strchr(name, ' ') : nullptr;
    if (name != nullptr)
      snprintf(text, sizeof text, "in the kernel %s, ", number != nullptr ? number + 1 : name);
  }
};

[[noreturn]] inline void fail(const char *what) {
  fprintf(stderr, "offload: %sblock (%u, %u, %u), thread (%u, %u, %u): %s\n", in_kernel().text, blockIdx.x, blockIdx.y,
          blockIdx.z, threadIdx.x, threadIdx.y, threadIdx.z, what);
  end_program();
}

/* Reports to the caller of the launch why the system cannot run it. */
inline void refuse(launch &l, const char *why) {
  if (l.refusal == nullptr)
    fail(why);
  snprintf(l.refusal, l.refusal_size, "%s", why);
  l.is_refused = true;
}

#if defined(OFFLOAD_CPU_CHECK)
#include "check_hooks.h"
#else
/* Functions that do something only in checked builds: offload/check_hooks.h. */
namespace check {
inline void launch_begins(launch &, const offload_cpu_settings *) {}
inline unsigned launch_ended(launch &) { return 0; }
inline void block_begins(launch &) {}
inline void block_ended(launch &) {}
inline void thread_begins(launch &) {}
inline void enter(launch &) {}
inline void leave(launch &) {}
inline unsigned barrier_edge(launch &) { return 0; }
inline unsigned warp_edge(launch &, warp_function, offload_lanes) { return 0; }
inline void releases(launch &, unsigned) {}
inline void acquires(launch &, unsigned) {}
inline void barrier_is_complete(launch &) {}
inline void never_goes_on(const launch &) {}
inline void *dynamic_shared(launch &l) { return l.shared; }
} // namespace check
#endif

} // namespace offload_cpu

#include "ends.h"

namespace offload_cpu {

/* The number of the running thread in its block. */
inline unsigned thread_number() { return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x; }

/* Changes the index to the next thread's.  Returns false if there is no next thread. */
inline bool next_index(dim3 &index) {
  if (index.x + 1 != blockDim.x)
    index = dim3(index.x + 1, index.y, index.z);
  else if (index.y + 1 != blockDim.y)
    index = dim3(0, index.y + 1, index.z);
  else if (index.z + 1 != blockDim.z)
    index = dim3(0, 0, index.z + 1);
  else
    return false;
  return true;
}

#if OFFLOAD_CPU_FIBERS
/* Sets the index of the next thread of a split block. */
inline void start_next(launch &l) {
  l.self = l.next++;
  *l.index = l.threads[l.self].index = l.upcoming;
  next_index(l.upcoming);
}

inline void make_ready(launch &l, waiting_thread &thread) {
  thread.now = state::ready;
  thread.next_ready = nullptr;
  (l.first_ready == nullptr ? l.first_ready : l.last_ready->next_ready) = &thread;
  l.last_ready = &thread;
}

inline place *take_ready(launch &l) {
  waiting_thread &thread = *l.first_ready;
  thread.now = state::started;
  l.first_ready = thread.next_ready;
  if (l.first_ready != nullptr)
    prefetch(l.first_ready->resume);
  return &thread.resume;
}

[[noreturn]] inline void stuck(const launch &l) {
  check::never_goes_on(l);
  fprintf(stderr,
          "offload: %sthe threads of block (%u, %u, %u) wait for each other: of %u, %u are at a barrier, %u in a warp "
          "function, and %u have returned.\nA barrier waits for every thread of the block that has not returned, a warp "
          "function for every lane in its mask, and all those lanes must pass the same mask.\n",
          in_kernel().text, blockIdx.x, blockIdx.y, blockIdx.z, l.count, l.at_barrier, l.at_warp, l.returned);
  end_program();
}

/* Lets all threads go on that have not returned: all of them are at the barrier. */
inline OFFLOAD_ONE_COPY void open_barrier(launch &l) {
  check::barrier_is_complete(l);
  const unsigned votes = l.votes;
  l.at_barrier = l.votes = 0;
  waiting_thread **ready = &l.first_ready;
  for (waiting_thread *thread = l.threads, *end = thread + l.count; thread != end; ++thread) {
    if (thread->now != state::at_barrier)
      continue;
    thread->now = state::ready;
    thread->result = votes;
    *ready = l.last_ready = thread;
    ready = &thread->next_ready;
  }
  *ready = nullptr;
}

inline void settle_barrier(launch &l) {
  if (l.at_barrier != 0 && l.at_barrier == l.count - l.returned)
    open_barrier(l);
}

/* The lanes of `group`, in the warp that starts with thread `base`, for which `is` returns true. */
template <typename Is> offload_lanes lanes_of(unsigned base, offload_lanes group, Is is) {
  offload_lanes found = 0;
  for (offload_lanes left = group; left != 0; left &= left - 1) {
    unsigned lane = unsigned(__builtin_ctzll(left));
    found |= offload_lanes(is(base + lane)) << lane;
  }
  return found;
}

/* Names of functions for kernels in C++ and in Rust.  Rust has only some of the functions. */
#if defined(OFFLOAD_RUST_FOLDER)
#define OFFLOAD_CPU_NAME(cxx, rust) rust
#else
#define OFFLOAD_CPU_NAME(cxx, rust) cxx
#endif
inline const char *name_of(warp_function function) {
  switch (function) {
  case warp_function::activemask:
    return "__activemask";
  case warp_function::syncwarp:
    return OFFLOAD_CPU_NAME("__syncwarp", "sync_warp");
  case warp_function::ballot:
    return OFFLOAD_CPU_NAME("__ballot_sync", "ballot");
  case warp_function::any:
    return "__any_sync";
  case warp_function::all:
    return "__all_sync";
  case warp_function::shfl:
    return OFFLOAD_CPU_NAME("__shfl_sync", "shuffle");
  case warp_function::shfl_up:
    return "__shfl_up_sync";
  case warp_function::shfl_down:
    return "__shfl_down_sync";
  case warp_function::shfl_xor:
    return "__shfl_xor_sync";
  }
  return "a warp function";
}

#if !defined(OFFLOAD_CPU_CHECK)
/* On GPUs, lanes that wait for each other in different functions wait forever.  Checked builds report that and go on. */
inline void all_call_one_function(const launch &l, unsigned base, offload_lanes group) {
  unsigned first = unsigned(__builtin_ctzll(group));
  warp_function function = l.threads[base + first].function;
  for (unsigned lane = first; lane < warpSize; ++lane)
    if ((group >> lane & 1) && l.threads[base + lane].function != function) {
      fprintf(stderr,
              "offload: %slanes of a warp wait for each other in block (%u, %u, %u): thread %u in %s, thread %u in %s.\n"
              "All lanes of a mask must make the same call.\n",
              in_kernel().text, blockIdx.x, blockIdx.y, blockIdx.z, base + first, name_of(function), base + lane,
              name_of(l.threads[base + lane].function));
      end_program();
    }
}
#endif

/* Answers these lanes, which have all arrived. */
inline OFFLOAD_ONE_COPY void answer(launch &l, unsigned base, offload_lanes group) {
#if defined(OFFLOAD_CPU_CHECK)
  check::warp_is_complete(l, base, group);
#else
  all_call_one_function(l, base, group);
#endif
  offload_lanes votes = lanes_of(base, group, [&](unsigned t) { return l.threads[t].value != 0; });
  for (offload_lanes left = group; left != 0; left &= left - 1) {
    const unsigned t = base + unsigned(__builtin_ctzll(left));
    waiting_thread &thread = l.threads[t];
    if (thread.function == warp_function::activemask)
      thread.result = group;
    else if (thread.function < warp_function::shfl)
      thread.result = votes;
    else /* For a missing lane, the thread gets its own value. */
      thread.result = group >> thread.source & 1 ? l.threads[base + thread.source].value : thread.value;
    make_ready(l, thread);
    --l.at_warp;
  }
}

/* Lets the lanes of complete groups go on, after lane `thread` of the warp arrived somewhere or returned. */
inline OFFLOAD_ONE_COPY void settle_warp(launch &l, unsigned thread) {
  if (l.at_warp == 0)
    return;
  const unsigned base = thread / warpSize * warpSize;
  offload_lanes here = 0, live = 0, asking = 0, can_go_on = 0;
  for (unsigned t = base; t < l.count && t < base + warpSize; ++t) {
    const offload_lanes bit = offload_lanes(1) << (t - base);
    const state now = t >= l.next ? state::started : l.threads[t].now;
    live |= now != state::returned ? bit : 0;
    can_go_on |= now == state::started || now == state::ready ? bit : 0;
    if (now == state::at_warp)
      (l.threads[t].function == warp_function::activemask ? asking : here) |= bit;
  }
  bool answered = false;
  while (here != 0) {
    const offload_lanes mask = l.threads[base + unsigned(__builtin_ctzll(here))].mask;
    const offload_lanes same = lanes_of(base, here, [&](unsigned t) { return l.threads[t].mask == mask; });
    here &= ~same;
    if ((mask & live & ~same) == 0) {
      answer(l, base, same);
      answered = true;
    }
  }
  /* When no other lane of the warp can go on, lanes in __activemask at the same place are active together. */
  if (answered || can_go_on != 0)
    return;
  while (asking != 0) {
    const waiting_thread &first = l.threads[base + unsigned(__builtin_ctzll(asking))];
    const offload_lanes same = lanes_of(base, asking, [&](unsigned t) {
      return l.threads[t].source == first.source && l.threads[t].value == first.value;
    });
    asking &= ~same;
    answer(l, base, same);
  }
}

inline void run_threads();
inline void refuse_stacks(launch &l, size_t count, size_t size);

/* Leaves the running thread until it is made ready. */
inline __attribute__((always_inline)) void wait(launch &l, waiting_thread &mine) {
  const unsigned self = l.self;
  if (l.in_order != order::any) {
    check::leave(l);
    go(&mine.resume, &l.caller);
    /* The code that switched back has set `self` and the index. */
    return;
  }
  if (l.first_ready != nullptr) {
    place *other = take_ready(l);
    if (other != &mine.resume)
      go(&mine.resume, other);
  } else if (l.next < l.count) {
    l.starting = l.stacks.take();
    place start;
    if (!begin_at(&start, l.starting, l.stacks.size, run_threads)) {
      refuse_stacks(l, l.count, l.stacks.size);
      go(&l.never, &l.home, true);
    }
    go(&mine.resume, &start);
  } else {
    stuck(l);
  }
  l.self = self;
  *l.index = mine.index;
}

/* Returns the current end of the caller's stack, below all local variables. */
inline OFFLOAD_OPAQUE uintptr_t end_of_stack() {
  return reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
}

#if defined(OFFLOAD_CPU_CHECK)
/* The stack limit of a thread in checked builds, where a sanitizer makes local variables larger.  Each stack is twice as large,
 * so that a thread beyond the limit has room for its report (reports::limit_stack). */
constexpr size_t checked_stack = OFFLOAD_CPU_STACK < 1024 * 1024 ? 1024 * 1024 : OFFLOAD_CPU_STACK;
#endif

/* Leaves room for the message about a thread that needs more. */
constexpr size_t least_stack = OFFLOAD_CPU_STACK < 32 * 1024 ? 32 * 1024 : OFFLOAD_CPU_STACK;

/* The bytes of each stack. */
inline size_t stack_size(const launch &l) {
#if defined(OFFLOAD_CPU_CHECK)
  (void)l;
  return 2 * checked_stack;
#else
  if (l.in_order != order::any)
    return least_stack;
  /* The first thread that waits began on the caller's stack: its use shows how much the others may need. */
  size_t needed = size_t(l.begins - end_of_stack());
  return least_stack + (needed > least_stack / 2 ? needed : 0);
#endif
}

inline void refuse_stacks(launch &l, size_t count, size_t size) {
  char limits[224], what[512];
  snprintf(what, sizeof what,
           "no memory for the stacks of the block's threads: %llu of %llu KiB each.%s Set OFFLOAD_CPU_THREADS to fewer "
           "threads, launch smaller blocks, or define a smaller OFFLOAD_CPU_STACK in build.rs",
           (unsigned long long)count, (unsigned long long)(size / 1024), describe_limits(limits, l.all_stacks));
  refuse(l, what);
}

/* Called while no thread of the block is on one of the stacks. */
inline bool make_room(launch &l) {
  if (l.threads == nullptr)
    l.threads = static_cast<waiting_thread *>(calloc(l.count, sizeof(waiting_thread)));
  size_t size = stack_size(l);
  if (l.stacks.from != nullptr && l.stacks.size < size)
    l.stacks.release();
  if (l.threads == nullptr ||
      (l.stacks.from == nullptr && !l.stacks.reserve(l.count, size, l.all_stacks, l.depth)))
    refuse_stacks(l, l.count, size);
  return !l.is_refused;
}

/* Called by the first thread of a block that has to wait: the threads before it have returned. */
inline __attribute__((noinline, cold)) void split(launch &l) {
  if (l.by.of != nullptr)
    fail("it calls a function in which threads wait, and the build did not see that call: do not call such a function "
         "through a pointer, and define it in the source of the kernel");
  if (!make_room(l))
    go(&l.never, &l.home, true);
  l.split = true;
  l.self = thread_number();
  l.next = l.self + 1;
  l.upcoming = threadIdx;
  next_index(l.upcoming);
  l.first_ready = nullptr;
  l.at_barrier = l.votes = l.at_warp = 0;
  l.returned = l.self;
  for (unsigned i = 0; i < l.count; ++i)
    l.threads[i].now = i < l.self ? state::returned : state::started;
  l.threads[l.self].index = threadIdx;
}

inline void has_returned(launch &l) {
  l.threads[l.self].now = state::returned;
  ++l.returned;
  settle_barrier(l);
  settle_warp(l, l.self);
}

/* Runs threads on another stack, as long as no waiting thread can go on. */
inline void run_threads() {
  launch &l = *current;
  char *stack = l.starting;
  arrived();
  while (l.first_ready == nullptr && l.next < l.count) {
    start_next(l);
    run_kernel(l);
    has_returned(l);
  }
  if (l.first_ready == nullptr && l.returned != l.count)
    stuck(l);
  /* The next user of this stack starts it again. */
  l.stacks.give_back(stack);
  go(&l.never, l.first_ready != nullptr ? take_ready(l) : &l.caller, true);
  OFFLOAD_CPU_NEVER_BACK;
}

#if defined(OFFLOAD_CPU_REGIONS)
#define OFFLOAD_CPU_BY_STACKS(function) function##_by_stacks
#else
#define OFFLOAD_CPU_BY_STACKS(function) function
#endif

/* Returns how many threads came to the barrier with a true condition. */
OFFLOAD_CPU_CALLED unsigned OFFLOAD_CPU_BY_STACKS(barrier)(bool holds OFFLOAD_AND_PLACE) {
  launch *l = current;
  if (l == nullptr || !l->split) {
    if (l == nullptr || l->count == 1)
      return holds;
    split(*l);
  }
  waiting_thread &mine = l->threads[l->self];
  mine.now = state::at_barrier;
#if defined(OFFLOAD_CPU_CHECK)
  mine.at = at;
#endif
  l->votes += holds;
  unsigned edge = check::barrier_edge(*l);
  check::releases(*l, edge);
  if (++l->at_barrier == l->count - l->returned)
    open_barrier(*l);
  if (l->at_warp != 0)
    settle_warp(*l, l->self);
  wait(*l, mine);
  check::acquires(*l, edge);
  return unsigned(mine.result);
}

OFFLOAD_CPU_CALLED uint64_t OFFLOAD_CPU_BY_STACKS(meet)(warp_function function, offload_lanes mask, uint64_t value,
                                                        unsigned source OFFLOAD_AND_PLACE) {
  launch *l = current;
#if defined(OFFLOAD_CPU_CHECK)
  /* Even in a block of one thread, the mask and the source may be wrong. */
  bool is_alone = l == nullptr;
#else
  bool is_alone = l == nullptr || l->count == 1;
#endif
  if (is_alone)
    return function == warp_function::activemask ? 1 : function >= warp_function::shfl ? value : value != 0;
  if (!l->split)
    split(*l);
  waiting_thread &mine = l->threads[l->self];
  mine.now = state::at_warp;
  mine.function = function;
  mine.mask = mask;
  mine.value = value;
  mine.source = source;
#if defined(OFFLOAD_CPU_CHECK)
  mine.at = at;
#endif
  unsigned edge = check::warp_edge(*l, function, mask);
  check::releases(*l, edge);
  ++l->at_warp;
  /* Lanes usually arrive in order: until the last one of the mask arrives, there is nothing to do. */
  const unsigned last = l->self / warpSize * warpSize + 63 - unsigned(__builtin_clzll(mask | 1));
  if (last >= l->count || (last < l->next && l->threads[last].now > state::ready))
    settle_warp(*l, l->self);
  wait(*l, mine);
  check::acquires(*l, edge);
  return mine.result;
}

#if defined(OFFLOAD_CPU_REGIONS)
/* The values that a thread passes to threads that wait with it, and their answer.  In regions, offload-build replaces these
 * variables by elements of arrays. */
extern "C" {
OFFLOAD_CPU_OWN uint64_t offload_cpu_value = 0, offload_cpu_result = 0, offload_cpu_mask = 0;
OFFLOAD_CPU_OWN unsigned offload_cpu_source = 0;

inline void wait_by_stacks(unsigned kind) {
  offload_cpu_result =
      kind < 2 ? barrier_by_stacks(kind == 1 && offload_cpu_value != 0)
               : meet_by_stacks(warp_function(kind - 2), offload_lanes(offload_cpu_mask), offload_cpu_value, offload_cpu_source);
}

/* Waits at a barrier (0), at a barrier that counts (1), or in a warp function (2 and more).  offload-build ends regions where
 * kernels call this, so the compiler must keep the calls.  Only threads with stacks run this function. */
__attribute__((noinline, convergent, nothrow)) inline void offload_cpu_wait(unsigned kind) {
  /* A call that might throw would need a handler, and so the image would need the C++ library. */
  typedef void (*quiet)(unsigned) __attribute__((nothrow));
  reinterpret_cast<quiet>(wait_by_stacks)(kind);
}
}

__attribute__((always_inline)) inline unsigned barrier(bool holds) {
  offload_cpu_value = holds;
  offload_cpu_wait(1);
  return unsigned(offload_cpu_result);
}

__attribute__((always_inline)) inline uint64_t meet(warp_function function, offload_lanes mask, uint64_t value,
                                                    unsigned source) {
  offload_cpu_mask = mask;
  offload_cpu_value = value;
  offload_cpu_source = source;
  offload_cpu_wait(2 + unsigned(function));
  return offload_cpu_result;
}
#endif
#else
/* For this system, no way to leave a stack and return to it is implemented. */
unsigned barrier(bool) __attribute__((error("a kernel with a barrier has no CPU image on this system: leave the "
    "target cpu out, or give it another kernel with #if defined(OFFLOAD_CPU)")));
uint64_t meet(warp_function, offload_lanes, uint64_t, unsigned) __attribute__((error("a kernel with warp functions has "
    "no CPU image on this system: leave the target cpu out, or give it another kernel with #if defined(OFFLOAD_CPU)")));
#endif

OFFLOAD_CPU_CALLED unsigned lane_number() { return thread_number() % warpSize; }

} // namespace offload_cpu

#if OFFLOAD_CPU_FIBERS
#include "regions.h"
#endif
#include "order.h"

namespace offload_cpu {

inline void run_block(launch &l) {
#if OFFLOAD_CPU_FIBERS
  if (l.by.of != nullptr)
    return run_block_by_regions(l);
#endif
  l.split = false;
  threadIdx = dim3(0, 0, 0);
  do
    run_kernel(l);
  while (!l.split && next_index(threadIdx));
#if OFFLOAD_CPU_FIBERS
  if (l.split)
    has_returned(l);
  while (l.split) {
    if (l.first_ready != nullptr) {
      /* Returns when every thread has returned, or when the thread on this stack goes on. */
      go(&l.caller, take_ready(l));
    } else if (l.next < l.count) {
      start_next(l);
      run_kernel(l);
      has_returned(l);
    } else if (l.returned == l.count) {
      return;
    } else {
      stuck(l);
    }
  }
#endif
}

/* The bytes of dynamic shared memory that the launch provides for each block. */
OFFLOAD_CPU_CALLED size_t dynamic_shared_size() { return current == nullptr ? 0 : current->shared_size; }

/* The memory of OFFLOAD_DYNAMIC_SHARED. */
OFFLOAD_CPU_CALLED void *dynamic_shared(OFFLOAD_PLACE) {
  if (current == nullptr || current->shared_size == 0) {
#if defined(OFFLOAD_CPU_CHECK)
    if (current != nullptr)
      check::no_dynamic_shared(*current, at);
#endif
    fail("the kernel uses dynamic shared memory, and the launch gives none: set its size with Launch::shared_memory, or "
         "call offload_cpu_launch_shared");
  }
  return check::dynamic_shared(*current);
}

/* Allocates dynamic shared memory, which the launch's blocks use one after another.  The launch has to free `allocated`. */
inline void give_shared_memory(launch &l, char **allocated) {
#if defined(OFFLOAD_CPU_CHECK)
  /* Each block gets its own memory. */
  (void)l, (void)allocated;
#else
#if defined(__ELF__)
  if (offload_cpu_extern_shared != nullptr) {
    size_t most = 0;
    l.shared = offload_cpu_extern_shared(&most);
    if (l.shared_size > most) {
      char what[256];
      snprintf(what, sizeof what,
               "the launch gives %llu bytes of dynamic shared memory; arrays that are declared with `extern __shared__` "
               "have at most %llu on the CPU, more than on any GPU",
               (unsigned long long)l.shared_size, (unsigned long long)most);
      refuse(l, what);
    }
    return;
  }
#endif
  constexpr size_t alignment = 128;
  if (l.shared_size <= SIZE_MAX - alignment)
    *allocated = static_cast<char *>(malloc(l.shared_size + alignment));
  if (*allocated == nullptr) {
    char what[128];
    snprintf(what, sizeof what, "no memory for the %llu bytes of dynamic shared memory that the launch gives",
             (unsigned long long)l.shared_size);
    return refuse(l, what);
  }
  l.shared = *allocated + (alignment - reinterpret_cast<uintptr_t>(*allocated) % alignment);
#endif
}

inline uint64_t blocks(const unsigned *grid) { return uint64_t(grid[0]) * grid[1] * grid[2]; }

inline void run_blocks(launch &l) {
#if OFFLOAD_CPU_FIBERS
  l.begins = end_of_stack();
#endif
  uint64_t rows = l.first_block / gridDim.x;
  blockIdx = dim3(unsigned(l.first_block % gridDim.x), unsigned(rows % gridDim.y), unsigned(rows / gridDim.y));
  for (uint64_t left = l.end_block - l.first_block; left != 0; --left) {
    run_block(l);
    if (++blockIdx.x == gridDim.x) {
      blockIdx.x = 0;
      if (++blockIdx.y == gridDim.y) {
        blockIdx.y = 0;
        ++blockIdx.z;
      }
    }
  }
}

#if OFFLOAD_CPU_FIBERS
/* The first function on the first stack. */
inline void run_on_first_stack() {
  launch &l = *current;
  arrived();
  if (l.in_order == order::any)
    run_blocks(l);
  else
    run_blocks_in_order(l);
  go(&l.never, &l.home, true);
  OFFLOAD_CPU_NEVER_BACK;
}

/* The threads' stacks must not depend on the caller's: the first stack is as large as most programs' stacks, and its use shows
 * how much waiting threads need. */
constexpr size_t first_stack_size = sizeof(void *) < 8 ? 1024 * 1024 : 8 * 1024 * 1024;

inline bool is_on_first_stack(const launch &l) { return l.in_order == order::any || l.by.of != nullptr; }

inline void reserve_first_stack(launch &l) {
  const size_t size = OFFLOAD_CPU_STACK > first_stack_size ? OFFLOAD_CPU_STACK : first_stack_size;
  if (is_on_first_stack(l) && !l.first_stack.reserve(1, size, l.all_stacks, l.depth)) {
    l.first_stack.release();
    refuse_stacks(l, 1, size);
  }
}

inline void run_blocks_on_first_stack(launch &l) {
  place start;
  if (begin_at(&start, l.first_stack.take(), l.first_stack.size, run_on_first_stack))
    go(&l.home, &start);
  else
    refuse_stacks(l, 1, l.first_stack.size);
}
#else
inline bool is_on_first_stack(const launch &l) { return l.in_order == order::any; }
inline void reserve_first_stack(launch &) {}
inline void run_blocks_on_first_stack(launch &l) { run_blocks(l); }
#endif

/* Runs some blocks of a grid: from `first` to before `end`, counted with x fastest.  A requested order permutes these numbers.
 * Returns the number of findings of a checked build. */
inline OFFLOAD_ONE_COPY unsigned run(const unsigned *grid, const unsigned *block, uint64_t first, uint64_t end,
                                     size_t shared_size, void (*thread)(void *), void *context,
                                     const offload_cpu_settings *settings = nullptr) {
  if (first == end)
    return 0; /* A grid without blocks has no rows to divide by. */
  launch l = {};
  l.index = &threadIdx;
  l.thread = thread;
  l.context = context;
#if OFFLOAD_CPU_FIBERS
  l.by.of = find_regions(thread, block[0]);
#endif
  l.count = block[0] * block[1] * block[2];
  l.first_block = first;
  l.end_block = end;
  if (settings != nullptr) {
    l.kernel = settings->kernel;
    l.in_order = order(settings->order);
    l.seed = settings->seed;
    l.progress = settings->progress;
  }
  if (settings != nullptr && settings->size >= sizeof *settings) {
    l.refusal = settings->refusal;
    l.refusal_size = settings->refusal_size;
#if OFFLOAD_CPU_FIBERS
    l.depth = settings->depth;
    l.all_stacks = process_stacks::begin(settings->stacks, settings->stacks_size, settings->process);
#endif
  }
  l.shared_size = shared_size;
  check::launch_begins(l, settings);
  /* The first stack leaves memory for thread-local variables: if none is left for them, the C library ends the program. */
  reserve_first_stack(l);
  if (l.is_refused)
    return check::launch_ended(l);
  /* The caller may be a thread of another grid. */
  launch *outer = current;
  const dim3 outer_indices[] = {threadIdx, blockIdx, blockDim, gridDim};
  current = &l;
  char *allocated = nullptr;
  give_shared_memory(l, &allocated);
  gridDim = dim3(grid[0], grid[1], grid[2]);
  blockDim = dim3(block[0], block[1], block[2]);
#if OFFLOAD_CPU_FIBERS
  if (!l.is_refused && l.by.of != nullptr)
    make_arrays(l);
#endif
  if (l.is_refused)
    ;
  else if (is_on_first_stack(l))
    run_blocks_on_first_stack(l);
  else
    run_blocks_in_order(l);
  current = outer;
  threadIdx = outer_indices[0];
  blockIdx = outer_indices[1];
  blockDim = outer_indices[2];
  gridDim = outer_indices[3];
  unsigned findings = check::launch_ended(l);
#if OFFLOAD_CPU_FIBERS
  l.stacks.release();
  l.first_stack.release();
  free(l.threads);
  free(l.by.arrays);
#endif
  free(allocated);
  return findings;
}

} // namespace offload_cpu

extern "C" {

/* Runs a grid of grid[0] x grid[1] x grid[2] blocks of block[0] x block[1] x block[2] threads: calls thread(context) once for
 * each thread, with the indices set, or less often if `thread` is the entry of a kernel and `context` the addresses of the
 * arguments.  All calls come from the caller's thread of the operating system.  If the kernel has barriers or warp functions, a
 * call may start before an earlier one has ended, on a stack of OFFLOAD_CPU_STACK bytes: `thread` must not assume exclusive
 * access to `context`. */
OFFLOAD_CPU_ENTRY void
offload_cpu_launch(const unsigned *grid, const unsigned *block, void (*thread)(void *), void *context) {
  offload_cpu::run(grid, block, 0, offload_cpu::blocks(grid), 0, thread, context);
}

/* Like offload_cpu_launch, with shared_size bytes of OFFLOAD_DYNAMIC_SHARED for each block. */
OFFLOAD_CPU_ENTRY void
offload_cpu_launch_shared(const unsigned *grid, const unsigned *block, size_t shared_size, void (*thread)(void *),
                          void *context) {
  offload_cpu::run(grid, block, 0, offload_cpu::blocks(grid), shared_size, thread, context);
}

/* Like offload_cpu_launch_shared, for some blocks of the grid: from number `first` to before `end`, counted with x fastest.
 * Several threads of the operating system may share a grid: each calls this with its own blocks.  Settings give the order and
 * more, or are null.  Returns the number of findings of a checked build. */
OFFLOAD_CPU_ENTRY unsigned
offload_cpu_launch_with(const unsigned *grid, const unsigned *block, uint64_t first, uint64_t end, size_t shared_size,
                        void (*thread)(void *), void *context, const offload_cpu_settings *settings) {
  return offload_cpu::run(grid, block, first, end, shared_size, thread, context, settings);
}
}

#endif

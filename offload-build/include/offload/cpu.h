/* offload/cpu.h: the CUDA dialect as C++17 for the CPU.  Part of offload/kernel.h.
 *
 * A kernel is a function; offload_cpu_launch calls it once for each thread of the grid, block after block, on the thread
 * of the operating system that called it.  The threads of a block run one after another in a plain loop until one of
 * them has to wait, at a barrier or in a warp function: then it is left on its stack, and the loop goes on with the next
 * thread on another stack (offload/fibers.h).  A kernel without barriers never sees a second stack.
 *
 * Threads that returned count no longer: a barrier waits for the rest of the block, a warp function for the rest of its
 * mask.  Threads that wait for each other for ever end the program with a message.
 */
#ifndef OFFLOAD_CPU_H
#define OFFLOAD_CPU_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "fibers.h"

#define __global__ __attribute__((visibility("default")))
#define __device__
#define __host__
#define __constant__
/* In a function that is static too.  Launches on several threads of the operating system do not share it. */
#define __shared__ thread_local
#define __launch_bounds__(...)
#define __forceinline__ inline __attribute__((always_inline))
/* Headers of the standard library say __attribute__((__noinline__)), so it can be nothing else here. */
#define __noinline__
constexpr int warpSize = 32;

#define OFFLOAD_DEVICE inline

inline thread_local dim3 threadIdx, blockIdx, blockDim, gridDim;

namespace offload_cpu {

[[noreturn]] inline void fail(const char *what) {
  fprintf(stderr, "offload: block (%u, %u, %u), thread (%u, %u, %u): %s\n", blockIdx.x, blockIdx.y, blockIdx.z,
          threadIdx.x, threadIdx.y, threadIdx.z, what);
  abort();
}

#if OFFLOAD_CPU_FIBERS
enum class state : unsigned char { started, ready, at_barrier, at_warp, returned };

/* What a thread that is in a warp function wants to know. */
enum class question : unsigned char { value_of_lane, vote, who_is_here };

/* A thread of the block, once any thread of it had to wait. */
struct waiting_thread {
  place resume;
  dim3 index;
  unsigned next_ready;
  state now;
  question wants;
  unsigned mask, source;
  uint64_t value, result;
};
#endif

constexpr unsigned nobody = ~0u;

struct launch {
  void (*thread)(void *);
  void *context;
  char *shared;
  size_t shared_size;
  unsigned count;    /* threads in a block */
  unsigned next;     /* the first that has not started */
  dim3 upcoming;     /* its index */
  unsigned self;     /* the one that runs */
  unsigned returned; /* counted from when the block was split up */
  bool split;        /* whether a thread of this block had to wait */
#if OFFLOAD_CPU_FIBERS
  waiting_thread *threads;
  unsigned first_ready, last_ready;
  unsigned at_barrier, votes, asking_who;
  stack_pool stacks;
  char *starting;
  place caller; /* where the caller's stack goes on when no thread is on it */
  place never;  /* where stacks that have ended were left */
#endif
};

inline thread_local launch *current = nullptr;

/* Sets the index of the next thread of the block. */
inline void start_next(launch &l) {
  l.self = l.next++;
  threadIdx = l.upcoming;
  if (++l.upcoming.x == blockDim.x) {
    l.upcoming.x = 0;
    if (++l.upcoming.y == blockDim.y) {
      l.upcoming.y = 0;
      ++l.upcoming.z;
    }
  }
}

#if OFFLOAD_CPU_FIBERS
inline void make_ready(launch &l, unsigned thread) {
  l.threads[thread].now = state::ready;
  l.threads[thread].next_ready = nobody;
  if (l.first_ready == nobody)
    l.first_ready = thread;
  else
    l.threads[l.last_ready].next_ready = thread;
  l.last_ready = thread;
}

inline place *take_ready(launch &l) {
  waiting_thread &thread = l.threads[l.first_ready];
  thread.now = state::started;
  l.first_ready = thread.next_ready;
  return &thread.resume;
}

[[noreturn]] inline void stuck(const launch &l) {
  unsigned at_warp = 0;
  for (unsigned i = 0; i < l.count; ++i)
    at_warp += l.threads[i].now == state::at_warp;
  fprintf(stderr,
          "offload: the threads of block (%u, %u, %u) wait for each other: of %u, %u are at a barrier, %u in a warp "
          "function, and %u have returned.\nA barrier waits for every thread of the block that has not returned, a warp "
          "function for every lane in its mask, and all those lanes must pass the same mask.\n",
          blockIdx.x, blockIdx.y, blockIdx.z, l.count, l.at_barrier, at_warp, l.returned);
  abort();
}

inline void settle_barrier(launch &l) {
  if (l.at_barrier == 0 || l.at_barrier != l.count - l.returned)
    return;
  unsigned votes = l.votes;
  l.at_barrier = l.votes = 0;
  for (unsigned i = 0; i < l.count; ++i)
    if (l.threads[i].now == state::at_barrier) {
      l.threads[i].result = votes;
      make_ready(l, i);
    }
}

/* The lanes of the warp that starts with thread `base` in one of these states. */
template <typename Is> unsigned lanes(const launch &l, unsigned base, Is is) {
  unsigned found = 0;
  for (unsigned lane = 0; lane < 32 && base + lane < l.count; ++lane)
    found |= unsigned(is(base + lane)) << lane;
  return found;
}

/* Answers these lanes, which have all arrived. */
inline void answer(launch &l, unsigned base, unsigned group) {
  unsigned votes = lanes(l, base, [&](unsigned t) { return (group >> (t - base) & 1) && l.threads[t].value != 0; });
  for (unsigned lane = 0; lane < 32; ++lane) {
    if (!(group >> lane & 1))
      continue;
    waiting_thread &thread = l.threads[base + lane];
    switch (thread.wants) {
    case question::value_of_lane:
      /* From a lane that is not there comes the thread's own value. */
      thread.result = group >> thread.source & 1 ? l.threads[base + thread.source].value : thread.value;
      break;
    case question::vote:
      thread.result = votes;
      break;
    case question::who_is_here:
      thread.result = group;
      --l.asking_who;
      break;
    }
    make_ready(l, base + lane);
  }
}

/* Lets lanes go on whose group is complete, after lane `thread` of the warp arrived somewhere or returned. */
inline void settle_warp(launch &l, unsigned thread) {
  unsigned base = thread / 32 * 32;
  auto in_warp_function = [&](unsigned t) { return t < l.next && l.threads[t].now == state::at_warp; };
  auto asks_who = [&](unsigned t) { return l.threads[t].wants == question::who_is_here; };
  unsigned here = lanes(l, base, in_warp_function);
  if (here == 0)
    return;
  unsigned live = lanes(l, base, [&](unsigned t) { return t >= l.next || l.threads[t].now != state::returned; });
  unsigned asking = lanes(l, base, [&](unsigned t) { return in_warp_function(t) && asks_who(t); });
  bool answered = false;
  for (unsigned lane = 0; lane < 32; ++lane) {
    if (!((here & ~asking) >> lane & 1))
      continue;
    unsigned mask = l.threads[base + lane].mask;
    unsigned same = lanes(l, base, [&](unsigned t) {
      return in_warp_function(t) && !asks_who(t) && l.threads[t].mask == mask;
    });
    if ((mask & live & ~same) == 0) {
      answer(l, base, same);
      here &= ~same;
      answered = true;
    }
  }
  /* The active lanes are those that ask once no other lane of the warp can go on. */
  auto can_go_on = [&](unsigned t) {
    return t >= l.next || l.threads[t].now == state::started || l.threads[t].now == state::ready;
  };
  if (asking != 0 && !answered && lanes(l, base, can_go_on) == 0)
    answer(l, base, asking);
}

inline void run_threads();

/* Leaves the thread that runs until it is made ready. */
inline OFFLOAD_OPAQUE void wait(launch &l) {
  unsigned self = l.self;
  waiting_thread &mine = l.threads[self];
  mine.index = threadIdx;
  if (l.first_ready != nobody) {
    place *other = take_ready(l);
    if (other != &mine.resume)
      go(&mine.resume, other);
  } else if (l.next < l.count) {
    l.starting = l.stacks.take();
    place start;
    begin_at(&start, l.starting, l.stacks.pitch - l.stacks.guard, run_threads);
    go(&mine.resume, &start);
  } else {
    stuck(l);
  }
  l.self = self;
  threadIdx = mine.index;
}

/* The first thread of a block that has to wait: those before it have returned. */
inline void split(launch &l) {
  if (l.split)
    return;
  if (l.threads == nullptr) {
    l.threads = static_cast<waiting_thread *>(calloc(l.count, sizeof(waiting_thread)));
    if (l.threads == nullptr || !l.stacks.reserve(l.count))
      fail("no memory for the stacks of the block's threads; OFFLOAD_CPU_STACK is the size of each");
  }
  l.split = true;
  l.first_ready = nobody;
  l.at_barrier = l.votes = l.asking_who = 0;
  l.returned = l.self;
  for (unsigned i = 0; i < l.count; ++i)
    l.threads[i].now = i < l.self ? state::returned : state::started;
}

inline void has_returned(launch &l) {
  l.threads[l.self].now = state::returned;
  ++l.returned;
  settle_barrier(l);
  settle_warp(l, l.self);
}

/* Another stack: runs threads as long as none that waited can go on. */
inline void run_threads() {
  launch &l = *current;
  char *stack = l.starting;
  arrived();
  while (l.first_ready == nobody && l.next < l.count) {
    start_next(l);
    l.thread(l.context);
    has_returned(l);
  }
  if (l.first_ready == nobody && l.returned != l.count)
    stuck(l);
  /* The next to take this stack starts it anew. */
  l.stacks.give_back(stack);
  go(&l.never, l.first_ready != nobody ? take_ready(l) : &l.caller, true);
  __builtin_unreachable();
}

/* How many of the threads that came to the barrier had a condition that held. */
inline unsigned barrier(bool holds) {
  launch *l = current;
  if (l == nullptr || l->count == 1)
    return holds;
  split(*l);
  waiting_thread &mine = l->threads[l->self];
  mine.now = state::at_barrier;
  ++l->at_barrier;
  l->votes += holds;
  settle_barrier(*l);
  if (l->asking_who != 0)
    settle_warp(*l, l->self);
  wait(*l);
  return unsigned(mine.result);
}

inline unsigned lane_number() { return current == nullptr ? 0 : current->self % 32; }

inline uint64_t meet(question wants, unsigned mask, uint64_t value, unsigned source) {
  launch *l = current;
  if (l == nullptr || l->count == 1)
    return wants == question::value_of_lane ? value : wants == question::vote ? value != 0 : 1;
  split(*l);
  waiting_thread &mine = l->threads[l->self];
  mine.now = state::at_warp;
  mine.wants = wants;
  mine.mask = mask;
  mine.value = value;
  mine.source = source;
  l->asking_who += wants == question::who_is_here;
  settle_warp(*l, l->self);
  wait(*l);
  return mine.result;
}
#else
/* No way to leave a stack and come back to it is known here. */
unsigned barrier(bool) __attribute__((error("a kernel with a barrier has no CPU image on this system: leave the "
    "target cpu out, or give it another kernel with #if defined(OFFLOAD_CPU)")));
enum class question { value_of_lane, vote, who_is_here };
uint64_t meet(question, unsigned, uint64_t, unsigned) __attribute__((error("a kernel with warp functions has no "
    "CPU image on this system: leave the target cpu out, or give it another kernel with #if defined(OFFLOAD_CPU)")));
inline unsigned lane_number() { return current == nullptr ? 0 : current->self % 32; }
#endif

inline void run_block(launch &l) {
  l.next = 0;
  l.upcoming = dim3(0, 0, 0);
  l.split = false;
  while (l.next < l.count && !l.split) {
    start_next(l);
    l.thread(l.context);
#if OFFLOAD_CPU_FIBERS
    if (l.split)
      has_returned(l);
#endif
  }
#if OFFLOAD_CPU_FIBERS
  while (l.split) {
    if (l.first_ready != nobody) {
      /* Back when every thread has returned, or when the one on this stack goes on. */
      go(&l.caller, take_ready(l));
    } else if (l.next < l.count) {
      start_next(l);
      l.thread(l.context);
      has_returned(l);
    } else if (l.returned == l.count) {
      return;
    } else {
      stuck(l);
    }
  }
#endif
}

/* The memory of OFFLOAD_DYNAMIC_SHARED. */
inline void *dynamic_shared() {
  if (current == nullptr || current->shared_size == 0)
    fail("the kernel uses dynamic shared memory, of which it was given none: launch it with offload_cpu_launch_shared");
  return current->shared;
}

/* Some blocks of a grid: those from `first` on, counted with x fastest, before `end`. */
inline void run(const unsigned *grid, const unsigned *block, uint64_t first, uint64_t end, size_t shared_size,
                void (*thread)(void *), void *context) {
  constexpr size_t alignment = 128;
  launch l = {};
  l.thread = thread;
  l.context = context;
  l.count = block[0] * block[1] * block[2];
  char *shared = static_cast<char *>(malloc(shared_size + alignment));
  if (shared == nullptr)
    fail("no memory for the dynamic shared memory");
  l.shared = shared + (alignment - reinterpret_cast<uintptr_t>(shared) % alignment);
  l.shared_size = shared_size;
  /* A thread may launch a grid itself. */
  launch *outer = current;
  const dim3 outer_indices[] = {threadIdx, blockIdx, blockDim, gridDim};
  current = &l;
  gridDim = dim3(grid[0], grid[1], grid[2]);
  blockDim = dim3(block[0], block[1], block[2]);
  uint64_t rows = first / grid[0];
  blockIdx = dim3(unsigned(first % grid[0]), unsigned(rows % grid[1]), unsigned(rows / grid[1]));
  for (; first < end; ++first) {
    run_block(l);
    if (++blockIdx.x == grid[0]) {
      blockIdx.x = 0;
      if (++blockIdx.y == grid[1]) {
        blockIdx.y = 0;
        ++blockIdx.z;
      }
    }
  }
  current = outer;
  threadIdx = outer_indices[0];
  blockIdx = outer_indices[1];
  blockDim = outer_indices[2];
  gridDim = outer_indices[3];
#if OFFLOAD_CPU_FIBERS
  l.stacks.release();
  free(l.threads);
#endif
  free(shared);
}

inline uint64_t blocks(const unsigned *grid) { return uint64_t(grid[0]) * grid[1] * grid[2]; }

} // namespace offload_cpu

extern "C" {

/* Calls thread(context) once for each thread of a grid of grid[0] x grid[1] x grid[2] blocks of
 * block[0] x block[1] x block[2] threads, with the indices set.  The caller's `thread` calls the kernel: it alone knows
 * the arguments and their types.  All calls come from the caller's thread of the operating system.  If the kernel has
 * barriers or warp functions, a call may start before an earlier one has ended, on a stack of OFFLOAD_CPU_STACK bytes:
 * `thread` must not hold `context` for itself. */
__attribute__((weak, visibility("default"))) void
offload_cpu_launch(const unsigned *grid, const unsigned *block, void (*thread)(void *), void *context) {
  offload_cpu::run(grid, block, 0, offload_cpu::blocks(grid), 0, thread, context);
}

/* The same, with so many bytes for each block behind OFFLOAD_DYNAMIC_SHARED. */
__attribute__((weak, visibility("default"))) void
offload_cpu_launch_shared(const unsigned *grid, const unsigned *block, size_t shared_size, void (*thread)(void *),
                          void *context) {
  offload_cpu::run(grid, block, 0, offload_cpu::blocks(grid), shared_size, thread, context);
}

/* The same for some blocks of the grid: those from number `first` on, counted with x fastest, before number `end`.  Threads of
 * the operating system may share a grid: each calls this with blocks of its own. */
__attribute__((weak, visibility("default"))) void
offload_cpu_launch_blocks(const unsigned *grid, const unsigned *block, uint64_t first, uint64_t end, size_t shared_size,
                          void (*thread)(void *), void *context) {
  offload_cpu::run(grid, block, first, end, shared_size, thread, context);
}
}

/* C++ cannot define what `extern __shared__ float tile[];` declares without its name: say this instead, everywhere. */
#define OFFLOAD_DYNAMIC_SHARED(type, name) type *const name = static_cast<type *>(offload_cpu::dynamic_shared())

#if OFFLOAD_CPU_FIBERS
inline void __syncthreads() { offload_cpu::barrier(false); }
#else
#define __syncthreads() ((void)offload_cpu::barrier(false))
#endif
inline int __syncthreads_count(int condition) { return int(offload_cpu::barrier(condition != 0)); }
inline int __syncthreads_or(int condition) { return offload_cpu::barrier(condition != 0) != 0; }
inline int __syncthreads_and(int condition) { return offload_cpu::barrier(condition == 0) == 0; }

#endif

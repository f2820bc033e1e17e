/* offload/regions.h: threads that wait without stacks.  Part of offload/schedule.h.
 *
 * offload-build cuts kernels into regions at their waits.  A region is a function that runs threads of a block from one wait to
 * the next, in a loop.  Values that a thread needs after its wait are in arrays with an element for each thread.  So a waiting
 * thread consists of elements of arrays and the number of its wait.
 *
 * A block runs as a whole as long as all its threads reach the same wait.  Otherwise, each thread has a state, like a thread
 * with a stack, and rounds run the threads that can go on.  The scheduler's rules apply in both cases.
 *
 * In blocks with rows of 8 threads or more, some loops run in turns: all threads run an iteration, then the next.  A region
 * ends where an iteration begins, but run_region goes on with its threads.  The scheduler does not see turns.
 */
#ifndef OFFLOAD_REGIONS_H
#define OFFLOAD_REGIONS_H

#if defined(OFFLOAD_CPU_REGIONS)
/* Regions call this before a function that may need the index of the running thread. */
extern "C" __attribute__((used)) inline void offload_cpu_set_thread(unsigned thread, unsigned x, unsigned y, unsigned z) {
  offload_cpu::current->self = thread;
  threadIdx = dim3(x, y, z);
}

/* The linker sets these to the start and the end of the section, if it exists. */
extern "C" __attribute__((weak, visibility("hidden"))) const offload_cpu_regions __start_offload_regions[],
    __stop_offload_regions[];
#endif

namespace offload_cpu {

/* Returns the regions of the kernel with this entry, or null. */
inline const offload_cpu_regions *find_regions(void (*entry)(void *), unsigned width) {
#if defined(OFFLOAD_CPU_REGIONS)
  for (const offload_cpu_regions *it = __start_offload_regions; it != __stop_offload_regions; ++it)
    if (it->entry == entry && it->least <= width)
      return it;
#endif
  (void)entry, (void)width;
  return nullptr;
}

/* Makes the arrays of a launch. */
inline bool make_arrays(launch &l) {
  const offload_cpu_regions &of = *l.by.of;
  offload_cpu_frame &frame = l.by.frame;
  if (l.by.arrays != nullptr)
    return true;
  /* Arrays at a distance of a power of two would share lines of the cache. */
  frame.stride = (l.count + 63) / 64 * 64 + 16;
  constexpr size_t own = 3 * sizeof(uint64_t) + 2 * sizeof(unsigned), alignment = 64;
  const size_t each = own + of.bytes;
  if (each <= (SIZE_MAX - 2 * alignment) / frame.stride)
    l.by.arrays = malloc(each * frame.stride + 2 * alignment);
  if (l.threads == nullptr)
    l.threads = static_cast<waiting_thread *>(calloc(l.count, sizeof(waiting_thread)));
  if (l.by.arrays == nullptr || l.threads == nullptr) {
    char what[256];
    snprintf(what, sizeof what,
             "no memory for the variables that the block's threads keep while they wait: %llu bytes for each of %u threads. Launch "
             "smaller blocks, or set OFFLOAD_CPU_THREADS to fewer threads",
             (unsigned long long)each, l.count);
    refuse(l, what);
    return false;
  }
  auto aligned = [](void *at) { return reinterpret_cast<char *>((reinterpret_cast<uintptr_t>(at) + alignment - 1) / alignment * alignment); };
  frame.addresses = static_cast<void *const *>(l.context);
  frame.arrays = aligned(l.by.arrays);
  frame.value = reinterpret_cast<uint64_t *>(aligned(frame.arrays + of.bytes * frame.stride));
  frame.result = frame.value + frame.stride;
  frame.mask = frame.result + frame.stride;
  frame.next = reinterpret_cast<unsigned *>(frame.mask + frame.stride);
  frame.source = frame.next + frame.stride;
  return true;
}

inline void begin_block(launch &l) {
  const dim3 dimensions[] = {blockIdx, blockDim, gridDim};
  memcpy(l.by.frame.dimensions, dimensions, sizeof dimensions);
  l.by.is_apart = false;
}

inline bool is_turn(const launch &l, unsigned wait) { return l.by.of->kinds[wait] == 255; }

/* Whether values that must be the same in threads that run together differ between these threads. */
inline bool are_different(const launch &l, unsigned from, unsigned to) {
  const offload_cpu_frame &frame = l.by.frame;
  for (size_t i = 0; i != l.by.of->uniform_count; ++i) {
    const offload_cpu_uniform &one = l.by.of->uniforms[i];
    const char *first = frame.arrays + one.offset * frame.stride + from * one.size;
    if (memcmp(first, first + one.size, (to - from - 1) * one.size) != 0)
      return true;
  }
  return false;
}

/* Runs these threads from one wait to the next, through all turns.  Returns the least and the greatest wait reached. */
inline uint64_t run_region(launch &l, unsigned region, unsigned from, unsigned to) {
  const unsigned *next = l.by.frame.next;
  const bool is_each = l.by.is_apart && are_different(l, from, to);
  while (!is_each) {
    l.by.region = region;
    l.by.from = from;
    l.by.to = to;
    run_kernel(l);
    region = unsigned(l.by.came_to);
    const bool is_one = region == unsigned(l.by.came_to >> 32);
    if (l.by.of->uniform_count == 0 || (is_one && !is_turn(l, region)))
      return l.by.came_to;
    if (!is_one)
      break;
  }
  l.by.is_apart = true;
  uint64_t least = ~0u, most = 0;
  for (unsigned t = from, end; t != to; t = end) {
    for (end = t + 1; !is_each && end != to && next[end] == next[t];)
      ++end;
    const uint64_t came_to =
        is_each || is_turn(l, next[t]) ? run_region(l, next[t], t, end) : next[t] | uint64_t(next[t]) << 32;
    least = came_to % (uint64_t(1) << 32) < least ? came_to % (uint64_t(1) << 32) : least;
    most = came_to >> 32 > most ? came_to >> 32 : most;
  }
  return least | most << 32;
}

/* Notes the waits that these threads have reached, after their region ended. */
inline void arrive(launch &l, unsigned from, unsigned to) {
  const offload_cpu_frame &frame = l.by.frame;
  for (unsigned t = from; t != to; ++t) {
    waiting_thread &thread = l.threads[t];
    const unsigned kind = frame.next[t] == 0 ? 0 : l.by.of->kinds[frame.next[t]];
    if (frame.next[t] == 0) {
      thread.now = state::returned;
      ++l.returned;
    } else if (kind < 2) {
      thread.now = state::at_barrier;
      ++l.at_barrier;
      l.votes += kind == 1 && frame.value[t] != 0;
    } else {
      thread.now = state::at_warp;
      thread.function = warp_function(kind - 2);
      thread.mask = offload_lanes(frame.mask[t]);
      thread.value = frame.value[t];
      thread.source = frame.source[t];
      ++l.at_warp;
    }
  }
}

/* Runs these threads, which can go on from one wait. */
inline void go_on(launch &l, unsigned from, unsigned to) {
  offload_cpu_frame &frame = l.by.frame;
  for (unsigned t = from; t != to; ++t) {
    l.threads[t].now = state::started;
    frame.result[t] = l.threads[t].result;
  }
  run_region(l, frame.next[from], from, to);
  arrive(l, from, to);
}

inline void begin_apart(launch &l) {
  l.next = l.count;
  l.split = l.by.of == nullptr;
  l.first_ready = nullptr;
  l.returned = l.at_barrier = l.votes = l.at_warp = 0;
}

/* Lets a thread go on, in a requested order. */
inline void go_on_in_order(launch &l) {
  const unsigned self = l.self;
  go_on(l, self, self + 1);
  settle_barrier(l);
  settle_warp(l, self);
}

/* Answers all threads of the block, which have reached one wait.  Returns false if lanes of a warp have different masks. */
inline bool answer_all(launch &l, unsigned wait) {
  offload_cpu_frame &frame = l.by.frame;
  const unsigned kind = l.by.of->kinds[wait], count = l.count;
  if (kind == 0)
    return true;
  uint64_t votes = 0;
  if (kind == 1) {
    for (unsigned t = 0; t != count; ++t)
      votes += frame.value[t];
    for (unsigned t = 0; t != count; ++t)
      frame.result[t] = votes;
    return true;
  }
  const warp_function function = warp_function(kind - 2);
  const unsigned lanes_of_warp = warpSize;
  if (function != warp_function::activemask)
    for (unsigned base = 0; base < count; base += lanes_of_warp) {
      const unsigned end = count - base < lanes_of_warp ? count : base + lanes_of_warp;
      uint64_t different = 0;
      for (unsigned t = base; t != end; ++t)
        different |= frame.mask[t] ^ frame.mask[base];
      if (different != 0)
        return false;
    }
  for (unsigned base = 0; base < count; base += lanes_of_warp) {
    const unsigned lanes = count - base < lanes_of_warp ? count - base : lanes_of_warp;
    const uint64_t *value = frame.value + base;
    uint64_t *result = frame.result + base;
    if (function >= warp_function::shfl) {
      const unsigned *source = frame.source + base;
      for (unsigned lane = 0; lane != lanes; ++lane)
        result[lane] = value[source[lane] < lanes ? source[lane] : lane];
      continue;
    }
    offload_lanes all = 0;
    for (unsigned lane = 0; lane != lanes; ++lane)
      all |= offload_lanes(function == warp_function::activemask || value[lane] != 0) << lane;
    for (unsigned lane = 0; lane != lanes; ++lane)
      result[lane] = all;
  }
  return true;
}

/* Runs threads at different waits until all threads can go on from one wait.  Returns this wait, or 0 if all have returned. */
inline unsigned run_apart(launch &l) {
  const offload_cpu_frame &frame = l.by.frame;
  begin_apart(l);
  l.by.is_apart = true;
  arrive(l, 0, l.count);
  for (unsigned low = 0, high = l.count;;) {
    settle_barrier(l);
    for (unsigned base = low / warpSize * warpSize; base < high; base += warpSize)
      settle_warp(l, base);
    while (low != high && l.threads[low].now == state::returned)
      ++low;
    while (low != high && l.threads[high - 1].now == state::returned)
      --high;
    if (low == high)
      return 0;
    bool any_ran = false;
    for (unsigned t = low; t != high;) {
      unsigned end = t;
      while (end != high && l.threads[end].now == state::ready && frame.next[end] == frame.next[t])
        ++end;
      if (end == t) {
        ++t;
        continue;
      }
      if (end - t == l.count) {
        for (; t != end; ++t)
          l.by.frame.result[t] = l.threads[t].result;
        return frame.next[0];
      }
      go_on(l, t, end);
      t = end;
      any_ran = true;
    }
    if (!any_ran)
      stuck(l);
  }
}

inline void run_block_by_regions(launch &l) {
  begin_block(l);
  for (unsigned region = 0;;) {
    const uint64_t came_to = run_region(l, region, 0, l.count);
    const unsigned wait = unsigned(came_to);
    const bool is_one = wait == unsigned(came_to >> 32);
    if (is_one && wait == 0)
      return;
    region = is_one && answer_all(l, wait) ? wait : run_apart(l);
    if (region == 0)
      return;
  }
}

} // namespace offload_cpu

#endif

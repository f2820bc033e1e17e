/* offload/order.h: runs blocks and threads in a requested order.  Part of offload/cpu.h.
 *
 * Each thread has its own stack.  A round runs, in the order, every thread that can go on, until the thread waits or returns.
 * Rounds repeat until all have returned.  If a kernel's result depends on the order, it has a race or lacks a barrier.
 */
#ifndef OFFLOAD_ORDER_H
#define OFFLOAD_ORDER_H

namespace offload_cpu {

/* The numbers below `count` in another order, without a table: there may be many blocks. */
struct permutation {
  order kind;
  uint64_t count, mask, factor, offset;
  unsigned shift;

  permutation(order in_order, uint64_t numbers, uint64_t seed) : kind(in_order), count(numbers) {
    unsigned bits = 1;
    while (bits < 64 && (numbers - 1) >> bits != 0)
      ++bits;
    mask = ~uint64_t(0) >> (64 - bits);
    shift = (bits + 1) / 2;
    factor = mixed(seed) | 1;
    offset = mixed(seed + 1);
  }

  /* The finalizer of SplitMix64, a public algorithm: every bit of the result depends on every bit of the seed. */
  static uint64_t mixed(uint64_t x) {
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
  }

  uint64_t at(uint64_t number) const {
    if (kind == order::reverse)
      return count - 1 - number;
    if (kind == order::random)
      /* Each step is reversible, so no two numbers collide.  A result beyond the end is permuted again. */
      do {
        for (unsigned step = 0; step < 3; ++step) {
          number = (number * factor + offset) & mask;
          number ^= number >> shift;
        }
      } while (number >= count);
    return number;
  }
};

/* Stores which thread runs, for a program that watches the launch. */
inline void tell(const launch &l) {
  if (l.progress != nullptr) {
    l.progress[0] = l.block_number;
    l.progress[1] = l.self;
  }
}

inline dim3 index_of(unsigned thread) {
  unsigned rows = thread / blockDim.x;
  return dim3(thread % blockDim.x, rows % blockDim.y, rows / blockDim.y);
}

#if OFFLOAD_CPU_FIBERS
/* The first function on a thread's stack. */
inline void run_thread() {
  launch &l = *current;
  arrived();
  check::thread_begins(l);
  run_kernel(l);
  has_returned(l);
  check::leave(l);
  go(&l.never, &l.caller, true);
  OFFLOAD_CPU_NEVER_BACK;
}

inline void run_block_in_order(launch &l) {
  const bool has_stacks = l.by.of == nullptr;
  check::block_begins(l);
  if (!l.is_refused && has_stacks)
    make_room(l);
  if (!has_stacks)
    begin_block(l);
  for (unsigned i = 0; i < l.count && !l.is_refused; ++i) {
    if (!has_stacks)
      l.by.frame.next[i] = 0;
    else if (!begin_at(&l.threads[i].resume, l.stacks.of(i), l.stacks.size, run_thread))
      refuse_stacks(l, l.count, l.stacks.size);
    l.threads[i].now = state::ready;
  }
  if (l.is_refused)
    return check::block_ended(l);
  begin_apart(l);
  for (uint64_t round = 0; l.returned != l.count; ++round) {
    const permutation in_turn(l.in_order, l.count, permutation::mixed(l.seed ^ l.block_number) + 2 * round);
    bool any_ran = false;
    for (unsigned turn = 0; turn < l.count; ++turn) {
      l.self = unsigned(in_turn.at(turn));
      if (l.threads[l.self].now != state::ready)
        continue;
      l.threads[l.self].now = state::started;
      threadIdx = index_of(l.self);
      tell(l);
      any_ran = true;
      check::enter(l);
      if (has_stacks)
        go(&l.caller, &l.threads[l.self].resume);
      else
        go_on_in_order(l);
    }
    if (!any_ran)
      stuck(l);
  }
  check::block_ended(l);
}
#else
/* Without stacks to switch, no thread can wait. */
inline void run_block_in_order(launch &l) {
  const permutation in_turn(l.in_order, l.count, permutation::mixed(l.seed ^ l.block_number));
  for (unsigned turn = 0; turn < l.count; ++turn) {
    l.self = unsigned(in_turn.at(turn));
    threadIdx = index_of(l.self);
    tell(l);
    run_kernel(l);
  }
}
#endif

/* Not inlined, so that this code does not slow down the loop for `order::any`. */
inline __attribute__((noinline, cold)) void run_blocks_in_order(launch &l) {
  const uint64_t first = l.first_block, end = l.end_block;
  const permutation in_turn(l.in_order, end - first, l.seed);
  for (uint64_t turn = 0; turn < end - first && !l.is_refused; ++turn) {
    l.block_number = first + in_turn.at(turn);
    uint64_t rows = l.block_number / gridDim.x;
    blockIdx = dim3(unsigned(l.block_number % gridDim.x), unsigned(rows % gridDim.y), unsigned(rows / gridDim.y));
    run_block_in_order(l);
  }
}

} // namespace offload_cpu

#endif

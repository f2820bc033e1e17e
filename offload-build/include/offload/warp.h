/* offload/warp.h: functions with which the lanes of a warp exchange values.  Part of offload/kernel.h.
 *
 * A warp has warpSize lanes: 32 on NVIDIA, on the CPU and on AMD's gfx10 and later; 64 on AMD's gfx9, and on the CPU on
 * request.  Masks have the type offload_lanes, one bit for each lane.  OFFLOAD_ALL_LANES sets all bits; on gfx9, 0xffffffff
 * does not.
 *
 * As in CUDA, each lane that calls must be in its mask, and all lanes of a mask must make the same call with that mask.  Only
 * __syncwarp orders accesses to memory: shuffles, votes and __activemask are not memory barriers.  AMD's hardware answers all
 * active lanes and ignores the mask of a shuffle; NVIDIA's hardware and the CPU wait for the lanes of the mask, but not for
 * lanes that have returned or that a short block does not have.
 */
#ifndef OFFLOAD_WARP_H
#define OFFLOAD_WARP_H

#if !defined(OFFLOAD_CPU)
#define OFFLOAD_AND_PLACE
#define OFFLOAD_ITS_PLACE
#endif

#define OFFLOAD_ALL_LANES (~(offload_lanes)0)

/* The mask of a call, of any integer type.  With 64 lanes, a mask of type `unsigned` causes a warning, because 0xffffffff is
 * half of the lanes.  clang accepts constants below 1 << 31; g++ has no attribute that tests the value.  An int is extended
 * with its sign, so -1 is all lanes. */
#if defined(OFFLOAD_64_LANES)
#define OFFLOAD_HALF "a mask of 32 bits names no lanes from 32 to 63: write OFFLOAD_ALL_LANES, or a variable of type offload_lanes"
#endif
struct offload_mask {
  offload_lanes lanes;
  template <typename T_>
  constexpr offload_mask(T_ mask)
#if defined(OFFLOAD_HALF) && defined(__clang__)
      __attribute__((diagnose_if(__is_same(decltype(+mask), unsigned) && (!__builtin_constant_p(mask) || mask >> 31),
                                 OFFLOAD_HALF, "warning")))
#endif
      : lanes(offload_lanes(mask)) {
  }
#if defined(OFFLOAD_HALF) && !defined(__clang__)
  [[deprecated(OFFLOAD_HALF)]] constexpr offload_mask(unsigned mask) : lanes(mask) {}
#endif
  constexpr operator offload_lanes() const { return lanes; }
};
#undef OFFLOAD_HALF

#if defined(OFFLOAD_NVPTX)
OFFLOAD_YIELDS offload_lanes __activemask() {
#if __CUDA_ARCH__ < 700
  return __nvvm_vote_ballot(true); /* PTX 6.0 has no activemask and does not need it: these warps run in lockstep */
#else
  offload_lanes mask;
  __asm__ volatile("activemask.b32 %0;" : "=r"(mask));
  return mask;
#endif
}
OFFLOAD_YIELDS offload_lanes __ballot_sync(offload_mask mask, int condition) {
  return __nvvm_vote_ballot_sync(mask, condition != 0);
}
OFFLOAD_YIELDS int __any_sync(offload_mask mask, int condition) { return __nvvm_vote_any_sync(mask, condition != 0); }
OFFLOAD_YIELDS int __all_sync(offload_mask mask, int condition) { return __nvvm_vote_all_sync(mask, condition != 0); }
OFFLOAD_YIELDS void __syncwarp(offload_mask mask = OFFLOAD_ALL_LANES) { __nvvm_bar_warp_sync(mask); }
#elif !defined(OFFLOAD_CPU)
OFFLOAD_YIELDS offload_lanes __activemask() { return offload_ballot(true); }
OFFLOAD_YIELDS offload_lanes __ballot_sync(offload_mask mask, int condition) {
  return mask & offload_ballot(condition != 0);
}
OFFLOAD_YIELDS int __any_sync(offload_mask mask, int condition) { return __ballot_sync(mask, condition) != 0; }
OFFLOAD_YIELDS int __all_sync(offload_mask mask, int condition) { return __ballot_sync(mask, !condition) == 0; }
OFFLOAD_YIELDS void __syncwarp(offload_mask = OFFLOAD_ALL_LANES) { offload_sync_lanes(); }
#else
OFFLOAD_DEVICE unsigned offload_lane() { return offload_cpu::lane_number(); }
/* Lanes that call it at different places in the source do not count as active together. */
OFFLOAD_YIELDS offload_lanes __activemask(const char *file = __builtin_FILE(),
                                          unsigned line = __builtin_LINE() OFFLOAD_AND_PLACE) {
  return offload_lanes(offload_cpu::meet(offload_warp_function::activemask, 0, uint64_t(reinterpret_cast<uintptr_t>(file)),
                                         line OFFLOAD_ITS_PLACE));
}
OFFLOAD_YIELDS offload_lanes __ballot_sync(offload_mask mask, int condition OFFLOAD_AND_PLACE) {
  return offload_lanes(offload_cpu::meet(offload_warp_function::ballot, mask, condition != 0, 0 OFFLOAD_ITS_PLACE));
}
OFFLOAD_YIELDS int __any_sync(offload_mask mask, int condition OFFLOAD_AND_PLACE) {
  return offload_cpu::meet(offload_warp_function::any, mask, condition != 0, 0 OFFLOAD_ITS_PLACE) != 0;
}
OFFLOAD_YIELDS int __all_sync(offload_mask mask, int condition OFFLOAD_AND_PLACE) {
  return offload_cpu::meet(offload_warp_function::all, mask, condition == 0, 0 OFFLOAD_ITS_PLACE) == 0;
}
OFFLOAD_YIELDS void __syncwarp(offload_mask mask = OFFLOAD_ALL_LANES OFFLOAD_AND_PLACE) {
  offload_cpu::meet(offload_warp_function::syncwarp, mask, 0, 0 OFFLOAD_ITS_PLACE);
}
#endif

namespace offload_warp {

#if defined(OFFLOAD_CPU)
typedef uint64_t word;
#else
typedef unsigned word;
#endif

/* Returns the word that lane `source` passes.  Every lane of the mask must call it. */
OFFLOAD_DEVICE word word_of(offload_warp_function function, offload_lanes mask, word own,
                            unsigned source OFFLOAD_AND_PLACE) {
#if !defined(OFFLOAD_CPU)
  (void)function;
#endif
#if defined(OFFLOAD_AMDGPU)
  (void)mask;
  return word(__builtin_amdgcn_ds_bpermute(int(source * 4), int(own)));
#elif defined(OFFLOAD_SPIRV)
  (void)mask;
  return word(__builtin_spirv_subgroup_shuffle(int(own), source));
#elif defined(OFFLOAD_NVPTX)
  return word(__nvvm_shfl_sync_idx_i32(mask, int(own), int(source), 31));
#else
  return offload_cpu::meet(function, mask, own, source OFFLOAD_ITS_PLACE);
#endif
}

template <typename T_>
OFFLOAD_DEVICE T_ value_of(offload_warp_function function, offload_lanes mask, T_ value,
                          unsigned source OFFLOAD_AND_PLACE) {
  static_assert(sizeof(T_) <= 8, "lanes exchange values of at most 8 bytes");
  word words[(sizeof(T_) + sizeof(word) - 1) / sizeof(word)] = {};
  __builtin_memcpy(words, &value, sizeof(T_));
  for (word &each : words)
    each = word_of(function, mask, each, source OFFLOAD_ITS_PLACE);
  __builtin_memcpy(&value, words, sizeof(T_));
  return value;
}

template <typename T_> OFFLOAD_DEVICE bool has_same_bits(T_ a, T_ b) {
  unsigned char as[sizeof(T_)], bs[sizeof(T_)], differ = 0;
  __builtin_memcpy(as, &a, sizeof(T_)), __builtin_memcpy(bs, &b, sizeof(T_));
  for (unsigned at = 0; at != sizeof(T_); ++at)
    differ |= as[at] ^ bs[at];
  return differ == 0;
}

} // namespace offload_warp

/* The warp is divided into groups of `width` lanes, a power of two.  A lane whose source is outside its group gets its own
 * value back. */

template <typename T_>
OFFLOAD_DEVICE T_ __shfl_sync(offload_mask mask, T_ value, int source, int width = warpSize OFFLOAD_AND_PLACE) {
  unsigned lane = offload_lane(), group = unsigned(width) - 1;
  source = int((lane & ~group) | (unsigned(source) & group));
  return offload_warp::value_of(offload_warp_function::shfl, mask, value, unsigned(source) OFFLOAD_ITS_PLACE);
}
template <typename T_>
OFFLOAD_DEVICE T_ __shfl_up_sync(offload_mask mask, T_ value, unsigned by, int width = warpSize OFFLOAD_AND_PLACE) {
  unsigned lane = offload_lane(), group = unsigned(width) - 1;
  unsigned source = (lane & group) >= by ? lane - by : lane;
  return offload_warp::value_of(offload_warp_function::shfl_up, mask, value, source OFFLOAD_ITS_PLACE);
}
template <typename T_>
OFFLOAD_DEVICE T_ __shfl_down_sync(offload_mask mask, T_ value, unsigned by, int width = warpSize OFFLOAD_AND_PLACE) {
  unsigned lane = offload_lane(), group = unsigned(width) - 1;
  unsigned source = by <= group - (lane & group) ? lane + by : lane;
  return offload_warp::value_of(offload_warp_function::shfl_down, mask, value, source OFFLOAD_ITS_PLACE);
}
/* This one can also read lanes of earlier groups. */
template <typename T_>
OFFLOAD_DEVICE T_ __shfl_xor_sync(offload_mask mask, T_ value, int by, int width = warpSize OFFLOAD_AND_PLACE) {
  unsigned lane = offload_lane(), group = unsigned(width) - 1, source = lane ^ unsigned(by);
  source = source <= (lane | group) ? source : lane;
  return offload_warp::value_of(offload_warp_function::shfl_xor, mask, value, source OFFLOAD_ITS_PLACE);
}

/* Return the lanes that pass the same bits (any); all lanes if all of them do, otherwise 0 (all).  Lanes of the mask that have
 * returned or do not exist take no part. */
template <typename T_>
OFFLOAD_DEVICE offload_lanes __match_any_sync(offload_mask mask, T_ value OFFLOAD_AND_PLACE) {
  offload_lanes mine = 0;
  for (offload_lanes left = __ballot_sync(mask, 1 OFFLOAD_ITS_PLACE); left != 0;) {
    int first = __builtin_ctzll(left);
    bool is_same = offload_warp::has_same_bits(__shfl_sync(mask, value, first, warpSize OFFLOAD_ITS_PLACE), value);
    offload_lanes same = __ballot_sync(mask, is_same OFFLOAD_ITS_PLACE);
    if (is_same)
      mine = same;
    left &= ~(same | offload_lanes(1) << first);
  }
  return mine;
}
template <typename T_>
OFFLOAD_DEVICE offload_lanes __match_all_sync(offload_mask mask, T_ value, int *is_same OFFLOAD_AND_PLACE) {
  offload_lanes lanes = __ballot_sync(mask, 1 OFFLOAD_ITS_PLACE);
  T_ first = __shfl_sync(mask, value, __builtin_ctzll(lanes), warpSize OFFLOAD_ITS_PLACE);
  *is_same = __all_sync(mask, offload_warp::has_same_bits(first, value) OFFLOAD_ITS_PLACE);
  return *is_same ? lanes : 0;
}

namespace offload_warp {
/* Combines the values of the lanes of the mask that have not returned, in order.  All of them get the result. */
template <typename T_, typename F_>
OFFLOAD_DEVICE T_ reduced(offload_lanes mask, T_ value, F_ f OFFLOAD_AND_PLACE) {
  unsigned long long left = __ballot_sync(mask, 1 OFFLOAD_ITS_PLACE);
  T_ all = __shfl_sync(mask, value, __builtin_ctzll(left), warpSize OFFLOAD_ITS_PLACE);
  while ((left &= left - 1) != 0)
    all = f(all, __shfl_sync(mask, value, __builtin_ctzll(left), warpSize OFFLOAD_ITS_PLACE));
  return all;
}
} // namespace offload_warp
#define OFFLOAD_REDUCE(name, result)                                                                                   \
  template <typename T_> OFFLOAD_DEVICE T_ name(offload_mask mask, T_ value OFFLOAD_AND_PLACE) {                       \
    return offload_warp::reduced(mask, value, [](T_ a, T_ b) { return result; } OFFLOAD_ITS_PLACE);                    \
  }
OFFLOAD_REDUCE(__reduce_add_sync, T_(a + b))
OFFLOAD_REDUCE(__reduce_min_sync, b < a ? b : a)
OFFLOAD_REDUCE(__reduce_max_sync, a < b ? b : a)
OFFLOAD_REDUCE(__reduce_and_sync, T_(a & b))
OFFLOAD_REDUCE(__reduce_or_sync, T_(a | b))
OFFLOAD_REDUCE(__reduce_xor_sync, T_(a ^ b))
#undef OFFLOAD_REDUCE

#endif

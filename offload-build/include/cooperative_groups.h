/* cooperative_groups.h: CUDA's groups of threads within a block, made with the functions of offload/warp.h.  A header of this
 * name in another folder of the build is used instead.
 *
 * A tile is a part of a warp.  A shuffle, a vote or a reduction is among the threads of the group that have not returned, in
 * the order of their ranks.  Operations of a whole grid, clusters and memcpy_async are missing.
 */
#if __has_include_next(<cooperative_groups.h>)
#include_next <cooperative_groups.h>
#elif !defined(OFFLOAD_COOPERATIVE_GROUPS_H)
#define OFFLOAD_COOPERATIVE_GROUPS_H
#include "offload/kernel.h"

/* The place of a call in the source, for images with checks. */
#if defined(OFFLOAD_CPU_CHECK)
#define OFFLOAD_GROUP_PLACE OFFLOAD_PLACE
#define OFFLOAD_GROUP_AT at
#else
#define OFFLOAD_GROUP_PLACE
#define OFFLOAD_GROUP_AT
#endif

namespace cooperative_groups {

struct thread_block {
  static __device__ void sync(OFFLOAD_GROUP_PLACE) { __syncthreads(OFFLOAD_GROUP_AT); }
  static __device__ unsigned thread_rank() {
    return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  }
  static __device__ unsigned num_threads() { return blockDim.x * blockDim.y * blockDim.z; }
  static __device__ unsigned size() { return num_threads(); }
  static __device__ dim3 group_index() { return blockIdx; }
  static __device__ dim3 thread_index() { return threadIdx; }
  static __device__ dim3 dim_threads() { return blockDim; }
  static __device__ dim3 group_dim() { return blockDim; }
};
OFFLOAD_DEVICE thread_block this_thread_block() { return {}; }

/* A grid whose blocks do not wait for each other. */
struct grid_group {
  static __device__ unsigned long long block_rank() {
    return ((unsigned long long)(blockIdx.z) * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  }
  static __device__ unsigned long long num_blocks() { return (unsigned long long)(gridDim.x) * gridDim.y * gridDim.z; }
  static __device__ unsigned long long thread_rank() {
    return block_rank() * thread_block::num_threads() + thread_block::thread_rank();
  }
  static __device__ unsigned long long num_threads() { return num_blocks() * thread_block::num_threads(); }
  static __device__ unsigned long long size() { return num_threads(); }
  static __device__ dim3 block_index() { return blockIdx; }
  static __device__ dim3 dim_blocks() { return gridDim; }
  static __device__ dim3 group_dim() { return gridDim; }
  static constexpr __device__ bool is_valid() { return false; }
  /* An error only if a kernel that is compiled calls it: a template without instances may contain the call. */
  template <bool Waits = false> __device__ void sync() const {
    static_assert(Waits, "the blocks of a launch cannot wait for each other: use two launches");
  }
};
OFFLOAD_DEVICE grid_group this_grid() { return {}; }

/* Some lanes of a warp, in the order of their numbers. */
class coalesced_group {
public:
  constexpr explicit __device__ coalesced_group(offload_lanes lanes_) : lanes(lanes_) {}

  __device__ unsigned thread_rank() const { return rank_of(offload_lane()); }
  __device__ unsigned num_threads() const { return unsigned(__builtin_popcountll(lanes)); }
  __device__ unsigned size() const { return num_threads(); }
  __device__ void sync(OFFLOAD_GROUP_PLACE) const { __syncwarp(lanes OFFLOAD_ITS_PLACE); }

  __device__ int any(int condition OFFLOAD_AND_PLACE) const { return __any_sync(lanes, condition OFFLOAD_ITS_PLACE); }
  __device__ int all(int condition OFFLOAD_AND_PLACE) const { return __all_sync(lanes, condition OFFLOAD_ITS_PLACE); }
  __device__ offload_lanes ballot(int condition OFFLOAD_AND_PLACE) const {
    return ranks_of(__ballot_sync(lanes, condition OFFLOAD_ITS_PLACE));
  }
  template <typename T_> __device__ offload_lanes match_any(T_ value OFFLOAD_AND_PLACE) const {
    return ranks_of(__match_any_sync(lanes, value OFFLOAD_ITS_PLACE));
  }
  template <typename T_> __device__ offload_lanes match_all(T_ value, int &is_same OFFLOAD_AND_PLACE) const {
    return ranks_of(__match_all_sync(lanes, value, &is_same OFFLOAD_ITS_PLACE));
  }

  /* Return another thread's value, by its rank (modulo the size) or relative to this one's rank; without one, one's own. */
  template <typename T_> __device__ T_ shfl(T_ value, unsigned rank OFFLOAD_AND_PLACE) const {
    return __shfl_sync(lanes, value, lane_of(rank % num_threads()), warpSize OFFLOAD_ITS_PLACE);
  }
  template <typename T_> __device__ T_ shfl_up(T_ value, unsigned by OFFLOAD_AND_PLACE) const {
    unsigned rank = thread_rank();
    return __shfl_sync(lanes, value, lane_of(rank >= by ? rank - by : rank), warpSize OFFLOAD_ITS_PLACE);
  }
  template <typename T_> __device__ T_ shfl_down(T_ value, unsigned by OFFLOAD_AND_PLACE) const {
    unsigned rank = thread_rank();
    return __shfl_sync(lanes, value, lane_of(by < num_threads() - rank ? rank + by : rank), warpSize OFFLOAD_ITS_PLACE);
  }
  template <typename T_> __device__ T_ shfl_xor(T_ value, unsigned by OFFLOAD_AND_PLACE) const {
    unsigned rank = thread_rank(), other = rank ^ by;
    return __shfl_sync(lanes, value, lane_of(other < num_threads() ? other : rank), warpSize OFFLOAD_ITS_PLACE);
  }

  /* The lanes as a mask of the warp, for functions that take a mask. */
  offload_lanes lanes;

private:
  __device__ unsigned rank_of(unsigned lane) const {
    return unsigned(__builtin_popcountll(lanes & ((offload_lanes(1) << lane) - 1)));
  }
  __device__ int lane_of(unsigned rank) const {
    unsigned long long left = lanes;
    for (; rank != 0; --rank)
      left &= left - 1;
    return __builtin_ctzll(left);
  }
  /* Moves each lane's bit to the position of the lane's rank. */
  __device__ offload_lanes ranks_of(offload_lanes of_lanes) const {
    offload_lanes ranks = 0;
    for (unsigned long long left = of_lanes; left != 0; left &= left - 1)
      ranks |= offload_lanes(1) << rank_of(unsigned(__builtin_ctzll(left)));
    return ranks;
  }
};

#if defined(OFFLOAD_CPU)
/* Threads that call at the same place in the source meet. */
inline coalesced_group coalesced_threads(const char *file = __builtin_FILE(), unsigned line = __builtin_LINE() OFFLOAD_AND_PLACE) {
  return coalesced_group(__activemask(file, line OFFLOAD_ITS_PLACE));
}
#else
OFFLOAD_DEVICE coalesced_group coalesced_threads() { return coalesced_group(__activemask()); }
#endif

/* `size` consecutive lanes, including the calling thread's. */
OFFLOAD_DEVICE offload_lanes offload_tile(unsigned size) {
  return (OFFLOAD_ALL_LANES >> (sizeof(offload_lanes) * 8 - size)) << (offload_lane() & ~(size - 1));
}

template <unsigned Size, typename Parent = thread_block> class thread_block_tile {
  static_assert(Size <= unsigned(warpSize) && (Size & (Size - 1)) == 0 && Size != 0,
                "a tile has as many threads as a warp, or a half, a quarter ...");

public:
  thread_block_tile() = default;
  template <typename Other> constexpr __device__ thread_block_tile(const thread_block_tile<Size, Other> &) {}

  static __device__ unsigned thread_rank() { return offload_lane() & (Size - 1); }
  static constexpr __device__ unsigned num_threads() { return Size; }
  static constexpr __device__ unsigned size() { return Size; }
  static __device__ unsigned meta_group_rank() { return Parent::thread_rank() / Size; }
  static __device__ unsigned meta_group_size() { return (Parent::num_threads() + Size - 1) / Size; }
  __device__ void sync(OFFLOAD_GROUP_PLACE) const { __syncwarp(offload_tile(Size) OFFLOAD_ITS_PLACE); }

  __device__ int any(int condition OFFLOAD_AND_PLACE) const {
    return __any_sync(offload_tile(Size), condition OFFLOAD_ITS_PLACE);
  }
  __device__ int all(int condition OFFLOAD_AND_PLACE) const {
    return __all_sync(offload_tile(Size), condition OFFLOAD_ITS_PLACE);
  }
  __device__ offload_lanes ballot(int condition OFFLOAD_AND_PLACE) const {
    return __ballot_sync(offload_tile(Size), condition OFFLOAD_ITS_PLACE) >> (offload_lane() & ~(Size - 1));
  }
  template <typename T_> __device__ offload_lanes match_any(T_ value OFFLOAD_AND_PLACE) const {
    return __match_any_sync(offload_tile(Size), value OFFLOAD_ITS_PLACE) >> (offload_lane() & ~(Size - 1));
  }
  template <typename T_> __device__ offload_lanes match_all(T_ value, int &is_same OFFLOAD_AND_PLACE) const {
    return __match_all_sync(offload_tile(Size), value, &is_same OFFLOAD_ITS_PLACE) >> (offload_lane() & ~(Size - 1));
  }

  template <typename T_> __device__ T_ shfl(T_ value, unsigned rank OFFLOAD_AND_PLACE) const {
    return __shfl_sync(offload_tile(Size), value, int(rank), int(Size) OFFLOAD_ITS_PLACE);
  }
  template <typename T_> __device__ T_ shfl_up(T_ value, unsigned by OFFLOAD_AND_PLACE) const {
    return __shfl_up_sync(offload_tile(Size), value, by, int(Size) OFFLOAD_ITS_PLACE);
  }
  template <typename T_> __device__ T_ shfl_down(T_ value, unsigned by OFFLOAD_AND_PLACE) const {
    return __shfl_down_sync(offload_tile(Size), value, by, int(Size) OFFLOAD_ITS_PLACE);
  }
  template <typename T_> __device__ T_ shfl_xor(T_ value, unsigned by OFFLOAD_AND_PLACE) const {
    return __shfl_xor_sync(offload_tile(Size), value, int(by), int(Size) OFFLOAD_ITS_PLACE);
  }
};
template <unsigned Size, typename Group> OFFLOAD_DEVICE thread_block_tile<Size, Group> tiled_partition(const Group &) {
  return {};
}

/* Any group, for functions that take every kind of group. */
class thread_group {
public:
  __device__ thread_group(const thread_block &)
      : lanes(0), rank(thread_block::thread_rank()), threads(thread_block::num_threads()) {}
  __device__ thread_group(const coalesced_group &group)
      : lanes(group.lanes), rank(group.thread_rank()), threads(group.num_threads()) {}
  template <unsigned Size, typename Parent>
  __device__ thread_group(const thread_block_tile<Size, Parent> &)
      : thread_group(coalesced_group(offload_tile(Size))) {}

  __device__ unsigned thread_rank() const { return rank; }
  __device__ unsigned num_threads() const { return threads; }
  __device__ unsigned size() const { return threads; }
  __device__ void sync(OFFLOAD_GROUP_PLACE) const {
    if (lanes != 0)
      __syncwarp(lanes OFFLOAD_ITS_PLACE);
    else
      __syncthreads(OFFLOAD_GROUP_AT);
  }

  offload_lanes lanes; /* 0 for a block */

private:
  unsigned rank, threads;
};
/* Divide a group by the ranks of its threads. */
OFFLOAD_DEVICE coalesced_group tiled_partition(const coalesced_group &group, unsigned size) {
  offload_lanes tile = 0;
  unsigned rank = 0;
  for (offload_lanes left = group.lanes; left != 0; left &= left - 1, ++rank)
    tile |= rank / size == group.thread_rank() / size ? left & ~(left - 1) : 0;
  return coalesced_group(tile);
}
OFFLOAD_DEVICE thread_group tiled_partition(const thread_group &group, unsigned size) {
  return group.lanes != 0 ? tiled_partition(coalesced_group(group.lanes), size) : coalesced_group(offload_tile(size));
}

template <typename Group> OFFLOAD_DEVICE void sync(const Group &group OFFLOAD_AND_PLACE) { group.sync(OFFLOAD_GROUP_AT); }
template <typename Group> OFFLOAD_DEVICE unsigned thread_rank(const Group &group) { return group.thread_rank(); }
template <typename Group> OFFLOAD_DEVICE unsigned group_size(const Group &group) { return group.size(); }

/* Return the threads of the group that have the caller's condition or label. */
OFFLOAD_DEVICE coalesced_group binary_partition(const coalesced_group &group, bool condition OFFLOAD_AND_PLACE) {
  offload_lanes those = __ballot_sync(group.lanes, condition OFFLOAD_ITS_PLACE);
  return coalesced_group(condition ? those : group.lanes & ~those);
}
template <unsigned Size, typename Parent>
OFFLOAD_DEVICE coalesced_group binary_partition(const thread_block_tile<Size, Parent> &, bool condition OFFLOAD_AND_PLACE) {
  return binary_partition(coalesced_group(offload_tile(Size)), condition OFFLOAD_ITS_PLACE);
}
template <typename T_>
OFFLOAD_DEVICE coalesced_group labeled_partition(const coalesced_group &group, T_ label OFFLOAD_AND_PLACE) {
  return coalesced_group(__match_any_sync(group.lanes, label OFFLOAD_ITS_PLACE));
}
template <unsigned Size, typename Parent, typename T_>
OFFLOAD_DEVICE coalesced_group labeled_partition(const thread_block_tile<Size, Parent> &, T_ label OFFLOAD_AND_PLACE) {
  return labeled_partition(coalesced_group(offload_tile(Size)), label OFFLOAD_ITS_PLACE);
}

#define OFFLOAD_OPERATION(name, result)                                                                                \
  template <typename T_ = void> struct name {                                                                          \
    __device__ T_ operator()(const T_ &a, const T_ &b) const { return result; }                                        \
  };                                                                                                                   \
  template <> struct name<void> {                                                                                      \
    template <typename T_> __device__ T_ operator()(const T_ &a, const T_ &b) const { return result; }                 \
  };
OFFLOAD_OPERATION(plus, a + b)
OFFLOAD_OPERATION(less, b < a ? b : a)
OFFLOAD_OPERATION(greater, a < b ? b : a)
OFFLOAD_OPERATION(bit_and, a & b)
OFFLOAD_OPERATION(bit_or, a | b)
OFFLOAD_OPERATION(bit_xor, a ^ b)
#undef OFFLOAD_OPERATION

/* Each thread gets the result over all threads. */
template <unsigned Size, typename Parent, typename T_, typename F_>
OFFLOAD_DEVICE T_ reduce(const thread_block_tile<Size, Parent> &tile, T_ value, F_ f OFFLOAD_AND_PLACE) {
  if (__ballot_sync(offload_tile(Size), 1 OFFLOAD_ITS_PLACE) != offload_tile(Size))
    return offload_warp::reduced(offload_tile(Size), value, f OFFLOAD_ITS_PLACE);
  for (unsigned by = Size / 2; by != 0; by /= 2)
    value = f(value, tile.shfl_xor(value, by OFFLOAD_ITS_PLACE));
  return value;
}
template <typename T_, typename F_>
OFFLOAD_DEVICE T_ reduce(const coalesced_group &group, T_ value, F_ f OFFLOAD_AND_PLACE) {
  return offload_warp::reduced(group.lanes, value, f OFFLOAD_ITS_PLACE);
}

/* Each thread gets the result over the threads up to itself (inclusive), or before it (exclusive: the first gets T()). */
template <typename Group, typename T_, typename F_>
OFFLOAD_DEVICE T_ inclusive_scan(const Group &group, T_ value, F_ f OFFLOAD_AND_PLACE) {
  for (unsigned by = 1; by < group.num_threads(); by *= 2) {
    T_ before = group.shfl_up(value, by OFFLOAD_ITS_PLACE);
    if (group.thread_rank() >= by)
      value = f(before, value);
  }
  return value;
}
template <typename Group, typename T_> OFFLOAD_DEVICE T_ inclusive_scan(const Group &group, T_ value OFFLOAD_AND_PLACE) {
  return inclusive_scan(group, value, plus<T_>() OFFLOAD_ITS_PLACE);
}
template <typename Group, typename T_, typename F_>
OFFLOAD_DEVICE T_ exclusive_scan(const Group &group, T_ value, F_ f OFFLOAD_AND_PLACE) {
  T_ all = inclusive_scan(group, value, f OFFLOAD_ITS_PLACE), before = group.shfl_up(all, 1 OFFLOAD_ITS_PLACE);
  return group.thread_rank() == 0 ? T_() : before;
}
template <typename Group, typename T_> OFFLOAD_DEVICE T_ exclusive_scan(const Group &group, T_ value OFFLOAD_AND_PLACE) {
  return exclusive_scan(group, value, plus<T_>() OFFLOAD_ITS_PLACE);
}

} // namespace cooperative_groups
#undef OFFLOAD_GROUP_PLACE
#undef OFFLOAD_GROUP_AT
#endif

// Kernels in pairs: `<name>_right` and `<name>_wrong`. Lines that a finding may name end with the
// checks that find it. The suffix 64 limits a check to warps of 64 lanes. Each launch has 2 blocks
// of 64 threads and 128 values. main.rs chooses everything else.

#include <cuda_fp16.h>

#define KERNEL(name) extern "C" __global__ void name(float *x, unsigned *n, int size)
#define UNUSED (void)x, (void)n, (void)size

__device__ int index() { return int(blockIdx.x * blockDim.x + threadIdx.x); }

__device__ unsigned lane_of_warp() { return threadIdx.x % warpSize; }

// The first half of a warp.
constexpr offload_lanes FIRST_HALF = OFFLOAD_ALL_LANES >> warpSize / 2;

// ---- memcheck: out of bounds, misaligned, freed

KERNEL(global_read_right) { UNUSED; int i = index(); float next = i + 1 < size ? x[i + 1] : 0; n[i] = next > 0; }
KERNEL(global_read_wrong) {
  UNUSED;
  int i = index();
  float next = x[i + 1]; // found: memory
  n[i] = next > 0;
}

KERNEL(global_write_right) { UNUSED; for (int i = index(); i < size; i += 128) n[i] = 1; }
KERNEL(global_write_wrong) {
  UNUSED;
  for (int i = index(); i <= size; i += 128)
    n[i] = 1; // found: memory
}

KERNEL(global_before_right) { UNUSED; int i = index(); n[i] = i > 0 && x[i - 1] > 0; }
KERNEL(global_before_wrong) {
  UNUSED;
  int i = index();
  n[i] = x[i - 1] > 0; // found: memory
}

KERNEL(shared_pointer_right) {
  UNUSED;
  __shared__ float first[64];
  __shared__ float second[64];
  float *p = first;
  second[threadIdx.x] = 1;
  p[threadIdx.x] = x[index()];
  __syncthreads();
  x[index()] = p[63 - threadIdx.x] + second[63 - threadIdx.x];
}
KERNEL(shared_pointer_wrong) {
  UNUSED;
  __shared__ float first[64];
  __shared__ float second[64];
  float *p = first;
  second[threadIdx.x] = 1;
  p[threadIdx.x + 1] = x[index()]; // found: memory
  __syncthreads();
  x[index()] = p[63 - threadIdx.x] + second[63 - threadIdx.x];
}

// The wrong access is beyond the row, but inside the variable.
KERNEL(shared_row_right) {
  UNUSED;
  __shared__ float tile[4][16];
  int row = int(threadIdx.x / 16), column = int(threadIdx.x % 16);
  tile[row][column] = x[index()];
  __syncthreads();
  x[index()] = tile[row][(column + 1) % 16];
}
KERNEL(shared_row_wrong) {
  UNUSED;
  __shared__ float tile[4][16];
  int row = int(threadIdx.x / 16), column = int(threadIdx.x % 16);
  tile[row][column] = x[index()];
  __syncthreads();
  x[index()] = row < 3 ? tile[row][column + 1] : 0; // found: memory undefined
}

KERNEL(local_array_right) {
  UNUSED;
  unsigned local[8] = {}, sum = 0;
  for (int i = 0; i < 8; ++i)
    local[(i + size) % 8] = unsigned(i);
  for (int i = 0; i < 9; ++i)
    sum += local[(i + size) % 8];
  n[index()] = sum;
}
KERNEL(local_array_wrong) {
  UNUSED;
  unsigned local[8] = {}, sum = 0;
  for (int i = 0; i < 8; ++i)
    local[(i + size) % 8] = unsigned(i);
  for (int i = 0; i < 9; ++i)
    sum += local[(i + size) % 9]; // found: memory undefined
  n[index()] = sum;
}

KERNEL(aligned_right) { UNUSED; float2 pair = reinterpret_cast<const float2 *>(x)[threadIdx.x]; n[index()] = pair.x > pair.y; }
KERNEL(aligned_wrong) {
  UNUSED;
  const float2 *pairs = reinterpret_cast<const float2 *>(x + 1);
  n[index()] = pairs[threadIdx.x % 32].x > 0; // found: memory undefined
}

// The wrong kernel is launched with dynamic shared memory for only 60 values.
KERNEL(dynamic_shared_right) {
  UNUSED;
  OFFLOAD_DYNAMIC_SHARED(float, tile);
  tile[threadIdx.x] = x[index()];
  __syncthreads();
  x[index()] = tile[threadIdx.x ^ 1];
}
KERNEL(dynamic_shared_wrong) {
  UNUSED;
  OFFLOAD_DYNAMIC_SHARED(float, tile);
  tile[threadIdx.x] = x[index()]; // found: memory
  __syncthreads();
  x[index()] = tile[threadIdx.x ^ 1]; // found: memory
}

// Dynamic shared memory, declared as in CUDA.
template <class T> __device__ T *shared_values() {
  extern __shared__ __align__(8) unsigned char bytes[];
  return reinterpret_cast<T *>(bytes);
}
KERNEL(extern_shared_right) {
  UNUSED;
  extern __shared__ float tile[];
  tile[threadIdx.x] = float(index());
  __syncthreads();
  // All declarations refer to the same memory of the block.
  bool is_same = shared_values<float>()[63 - threadIdx.x] == float(blockIdx.x * 64 + 63 - threadIdx.x);
  x[index()] = is_same ? 1 : __int_as_float(0x7fffffff);
}
KERNEL(extern_shared_wrong) {
  UNUSED;
  extern __shared__ unsigned words[];
  words[threadIdx.x] = unsigned(index()); // found: memory
  __syncthreads();
  n[index()] = words[threadIdx.x ^ 1]; // found: memory
}

// The wrong kernel is launched with a freed buffer.
KERNEL(freed_right) { UNUSED; n[index()] = x[index()] > 0; }
KERNEL(freed_wrong) {
  UNUSED;
  n[index()] = x[index()] > 0; // found: memory
}

// In the wrong kernel, block 1 gets the address of block 0's variable.
KERNEL(other_block_right) {
  UNUSED;
  __shared__ unsigned mine;
  if (threadIdx.x == 0)
    mine = blockIdx.x;
  __syncthreads();
  n[index()] = mine;
}
KERNEL(other_block_wrong) {
  UNUSED;
  __shared__ unsigned mine;
  if (threadIdx.x == 0) {
    mine = blockIdx.x;
    unsigned **address = reinterpret_cast<unsigned **>(n);
    if (blockIdx.x == 0)
      *address = &mine;
    else
      n[4] = **address; // found: memory
  }
}

// ---- undefined arithmetic

KERNEL(signed_sum_right) { UNUSED; n[index()] = 2147483647u + unsigned(index()); }
KERNEL(signed_sum_wrong) {
  UNUSED;
  int sum = 2147483600 + index(); // found: undefined
  n[index()] = unsigned(sum);
}

KERNEL(shift_right) { UNUSED; n[index()] = 1u << (index() & 31); }
KERNEL(shift_wrong) {
  UNUSED;
  n[index()] = 1u << index(); // found: undefined
}

KERNEL(negated_right) { UNUSED; n[index()] = 1u - (1u << 31); atomicSub((int *)&n[index()], -2147483647 - 1); }
KERNEL(negated_wrong) {
  UNUSED;
  int least = int(0x80000000u + unsigned(size - 128));
  n[index()] = unsigned(-least); // found: undefined
}

// ---- initcheck: reads of unwritten memory

// The pattern in unwritten memory is not a valid bool.
KERNEL(unwritten_flag_right) {
  UNUSED;
  __shared__ bool seen[64];
  seen[threadIdx.x] = false;
  n[index()] = seen[threadIdx.x] ? 1 : 2;
}
KERNEL(unwritten_flag_wrong) {
  UNUSED;
  __shared__ bool seen[64];
  if (size == 0)
    seen[threadIdx.x] = false;
  n[index()] = seen[threadIdx.x] ? 1 : 2; // found: undefined
}

// The wrong kernel's sum is NaN.
KERNEL(unwritten_sum_right) {
  UNUSED;
  __shared__ float sum;
  if (threadIdx.x == 0)
    sum = 1;
  __syncthreads();
  x[index()] = sum;
}
KERNEL(unwritten_sum_wrong) {
  UNUSED;
  __shared__ float sum;
  if (threadIdx.x == 0)
    sum += 1;
  __syncthreads();
  x[index()] = sum;
}

// ---- racecheck: threads of a block, of a warp, of several blocks

KERNEL(barrier_right) {
  UNUSED;
  __shared__ float tile[64];
  tile[threadIdx.x] = x[index()];
  __syncthreads();
  x[index()] = tile[63 - threadIdx.x];
}
KERNEL(barrier_wrong) {
  UNUSED;
  __shared__ float tile[64];
  tile[threadIdx.x] = x[index()];      // found: races
  x[index()] = tile[63 - threadIdx.x]; // found: races
}

// The next round writes the tile while other threads may still be reading it.
KERNEL(second_barrier_right) {
  UNUSED;
  __shared__ float tile[64];
  float sum = 0;
  for (int round = 0; round < 3; ++round) {
    tile[threadIdx.x] = x[index()] + float(round);
    __syncthreads();
    sum += tile[63 - threadIdx.x];
    __syncthreads();
  }
  x[index()] = sum;
}
KERNEL(second_barrier_wrong) {
  UNUSED;
  __shared__ float tile[64];
  float sum = 0;
  for (int round = 0; round < 3; ++round) {
    tile[threadIdx.x] = x[index()] + float(round); // found: races
    __syncthreads();
    sum += tile[63 - threadIdx.x]; // found: races
  }
  x[index()] = sum;
}

// A tree of sums, whose last steps one warp computes.
KERNEL(warp_right) {
  UNUSED;
  __shared__ float sums[64];
  unsigned t = threadIdx.x;
  sums[t] = x[index()];
  __syncthreads();
  if (t < 32) {
    sums[t] += sums[t + 32];
    __syncwarp();
    for (unsigned step = 16; step > 0; step /= 2) {
      float other = sums[(t + step) & 31];
      __syncwarp();
      sums[t] += other;
      __syncwarp();
    }
    float all = __shfl_sync(OFFLOAD_ALL_LANES, sums[t], 0);
    x[blockIdx.x * 64 + t] = all;
  }
}
KERNEL(warp_wrong) {
  UNUSED;
  __shared__ float sums[64];
  unsigned t = threadIdx.x;
  sums[t] = x[index()];
  __syncthreads();
  if (t < 32) {
    sums[t] += sums[t + 32]; // found: races
    for (unsigned step = 16; step > 0; step /= 2)
      sums[t] += sums[(t + step) & 31]; // found: races
    x[blockIdx.x * 64 + t] = sums[t];
  }
}

KERNEL(blocks_right) { UNUSED; atomicAdd(&x[threadIdx.x], 1.0f); }
KERNEL(blocks_wrong) {
  UNUSED;
  x[threadIdx.x] += 1; // found: races
}

KERNEL(counter_right) { UNUSED; if (x[index()] >= 0) atomicAdd(&n[0], 1u); }
KERNEL(counter_wrong) {
  UNUSED;
  if (x[index()] >= 0)
    n[0] += 1; // found: races
}

KERNEL(histogram_right) {
  UNUSED;
  __shared__ unsigned bins[8];
  if (threadIdx.x < 8)
    bins[threadIdx.x] = 0;
  __syncthreads();
  atomicAdd(&bins[index() & 7], 1u);
  __syncthreads();
  if (threadIdx.x < 8)
    atomicAdd(&n[threadIdx.x], bins[threadIdx.x]);
}
// The header's own loop of compare-and-swap.
KERNEL(half_sum_right) {
  UNUSED;
  __shared__ __half sum;
  if (threadIdx.x == 0)
    sum = __half(0);
  __syncthreads();
  atomicAdd(&sum, __half(x[index()]));
  __syncthreads();
  x[index()] = float(sum);
}

KERNEL(histogram_wrong) {
  UNUSED;
  __shared__ unsigned bins[8];
  if (threadIdx.x < 8)
    bins[threadIdx.x] = 0;
  __syncthreads();
  ++bins[index() & 7]; // found: races
  __syncthreads();
  if (threadIdx.x < 8)
    atomicAdd(&n[threadIdx.x], bins[threadIdx.x]);
}

// The last block to finish adds up the results of all blocks.
KERNEL(fence_right) {
  UNUSED;
  __shared__ bool is_last;
  if (threadIdx.x == 0) {
    x[blockIdx.x] = 2;
    __threadfence();
    is_last = atomicInc(&n[0], gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (is_last && threadIdx.x == 5)
    x[64] = x[0] + x[1];
}
KERNEL(system_fence_right) {
  UNUSED;
  __shared__ bool is_last;
  if (threadIdx.x == 0) {
    x[blockIdx.x] = 2;
    __threadfence_system();
    is_last = atomicInc_system(&n[0], gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (is_last && threadIdx.x == 5)
    x[64] = x[0] + x[1];
}
KERNEL(fence_wrong) {
  UNUSED;
  __shared__ bool is_last;
  if (threadIdx.x == 0) {
    x[blockIdx.x] = 2; // found: races
    is_last = atomicInc(&n[0], gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (is_last && threadIdx.x == 5)
    x[64] = x[0] + x[1]; // found: races
}

// A flag in global memory may be volatile.
KERNEL(volatile_flag_right) {
  UNUSED;
  if (threadIdx.x != 0)
    return;
  volatile unsigned *flag = &n[1];
  if (atomicAdd(&n[0], 1u) == 0) {
    x[0] = 2;
    __threadfence();
    *flag = 1;
  } else {
    while (*flag == 0)
      ;
    __threadfence();
    x[1] = x[0];
  }
}
KERNEL(volatile_flag_wrong) {
  UNUSED;
  if (threadIdx.x != 0)
    return;
  volatile unsigned *flag = &n[1];
  if (atomicAdd(&n[0], 1u) == 0) {
    x[0] = 2; // found: races
    *flag = 1;
  } else {
    while (*flag == 0)
      ;
    __threadfence();
    x[1] = x[0]; // found: races
  }
}

// Since Volta, volatile does not keep the lanes of a warp together.
KERNEL(volatile_shared_right) {
  UNUSED;
  __shared__ volatile float sums[64];
  unsigned t = threadIdx.x;
  sums[t] = x[index()];
  __syncthreads();
  for (unsigned step = 32; step > 0; step /= 2) {
    if (t < step)
      sums[t] += sums[t + step];
    __syncthreads();
  }
  x[index()] = sums[0];
}
KERNEL(volatile_shared_wrong) {
  UNUSED;
  __shared__ volatile float sums[64];
  unsigned t = threadIdx.x;
  sums[t] = x[index()];
  __syncthreads();
  if (t < 32)
    for (unsigned step = 32; step > 0; step /= 2)
      sums[t] += sums[t + step]; // found: races
}

KERNEL(atomic_read_right) {
  UNUSED;
  atomicMax(&n[0], unsigned(index()));
  if (index() == 0)
    n[1] = atomicAdd(&n[0], 0u);
}
KERNEL(atomic_read_wrong) {
  UNUSED;
  atomicMax(&n[0], unsigned(index())); // found: races
  if (index() == 0)
    n[1] = n[0]; // found: races
}

// ---- synccheck: barriers that not all threads reach

KERNEL(early_return_right) {
  UNUSED;
  __shared__ float tile[64];
  bool is_inside = index() < size - 10;
  tile[threadIdx.x] = is_inside ? x[index()] : 0;
  __syncthreads();
  if (is_inside)
    x[index()] = tile[63 - threadIdx.x];
}
KERNEL(early_return_wrong) {
  UNUSED;
  __shared__ float tile[64];
  if (index() >= size - 10) // found: any
    return;
  tile[threadIdx.x] = x[index()];
  __syncthreads(); // found: any
  if (threadIdx.x > 10)
    x[index()] = tile[63 - threadIdx.x];
}

KERNEL(divergent_right) {
  UNUSED;
  float add = threadIdx.x < 20 ? 1 : 2;
  __syncthreads();
  x[index()] += add;
}
KERNEL(divergent_wrong) {
  UNUSED;
  if (threadIdx.x < 20) {
    x[index()] += 1;
    __syncthreads(); // found: any
  } else {
    x[index()] += 2;
    __syncthreads(); // found: any
  }
}

KERNEL(barrier_in_loop_right) {
  UNUSED;
  for (int round = 0; round < 4; ++round) {
    x[index()] += 1;
    __syncthreads();
  }
}
KERNEL(barrier_in_loop_wrong) {
  UNUSED;
  for (unsigned round = 0; round < threadIdx.x % 4; ++round) {
    x[index()] += 1;
    __syncthreads(); // found: any
  }
}

// In the wrong kernel, half of the mask's lanes wait at a barrier: both halves wait forever.
KERNEL(mask_right) {
  UNUSED;
  float sum = x[index()];
  for (int step = warpSize / 2; step > 0; step /= 2)
    sum += __shfl_down_sync(OFFLOAD_ALL_LANES, sum, unsigned(step));
  if (lane_of_warp() == 0)
    x[index()] = sum;
  // Synchronize some lanes, then all lanes.
  __shared__ float values[64];
  unsigned lane = lane_of_warp();
  for (unsigned last = 1; last < warpSize - 1; ++last) {
    values[threadIdx.x] = sum;
    offload_lanes some = (offload_lanes(2) << last) - 1;
    if (lane <= last) {
      __syncwarp(some);
      sum += values[threadIdx.x - lane + (lane + 1) % (last + 1)];
      __syncwarp(some);
      values[threadIdx.x] = sum;
      __syncwarp(some);
    }
    __syncwarp();
    sum += values[threadIdx.x ^ 31];
    __syncwarp();
  }
  n[index()] = sum > 0;
}
KERNEL(mask_wrong) {
  UNUSED;
  float sum = x[index()];
  if (threadIdx.x % 2 == 0)
    sum += __shfl_down_sync(OFFLOAD_ALL_LANES, sum, 2); // found: stuck
  else
    __syncthreads(); // found: stuck
  x[index()] = sum;
}

// ---- mismatched calls of warp functions

// The halves of a warp may call different functions if each half passes its own mask.
KERNEL(other_function_right) {
  UNUSED;
  float sum = x[index()];
  if (lane_of_warp() < warpSize / 2)
    sum += __shfl_xor_sync(FIRST_HALF, sum, 1);
  else
    __syncwarp(~FIRST_HALF);
  x[index()] = sum;
}
KERNEL(other_function_wrong) {
  UNUSED;
  unsigned lane = lane_of_warp();
  float sum = x[index()];
  if (lane < 16)
    sum += __shfl_xor_sync(OFFLOAD_ALL_LANES, sum, 1); // found: any
  else
    __syncwarp(); // found: any
  x[index()] = sum;
}

// Warp functions do not wait for lanes that have returned.
KERNEL(other_vote_right) {
  UNUSED;
  unsigned lane = lane_of_warp();
  if (lane >= 20)
    return;
  bool one = __any_sync(OFFLOAD_ALL_LANES, lane == 3), all = __all_sync(OFFLOAD_ALL_LANES, lane < 20);
  n[index()] = one && all;
}
KERNEL(other_vote_wrong) {
  UNUSED;
  unsigned lane = lane_of_warp();
  bool holds = false;
  if (lane % 2 == 0)
    holds = __any_sync(OFFLOAD_ALL_LANES, lane == 3); // found: any
  else
    holds = __all_sync(OFFLOAD_ALL_LANES, lane == 3); // found: any
  n[index()] = holds;
}

// Only for __syncwarp may lanes be at different places in the code. A call in a loop is one place.
KERNEL(other_place_right) {
  UNUSED;
  __shared__ unsigned values[64];
  unsigned lane = lane_of_warp();
  values[threadIdx.x] = lane;
  if (lane < warpSize / 2) {
    __syncwarp();
    n[index()] = values[threadIdx.x + warpSize / 2];
  } else {
    __syncwarp();
    n[index()] = values[threadIdx.x - warpSize / 2];
  }
  for (int step = warpSize / 2; step > 0; step /= 2)
    lane += __shfl_xor_sync(OFFLOAD_ALL_LANES, lane, step);
  n[index()] += lane;
}
KERNEL(other_place_wrong) {
  UNUSED;
  unsigned lane = lane_of_warp();
  if (lane < 16)
    n[index()] = __shfl_xor_sync(OFFLOAD_ALL_LANES, lane, 16); // found: any
  else
    n[index()] = __shfl_xor_sync(OFFLOAD_ALL_LANES, lane, 16) + 1; // found: any
}

// The active lanes combine their additions into one.
KERNEL(own_mask_right) {
  UNUSED;
  unsigned lane = lane_of_warp();
  offload_lanes some = __ballot_sync(OFFLOAD_ALL_LANES, lane % 3 == 0);
  if (lane % 3 == 0) {
    int leader = __ffsll((long long)some) - 1;
    unsigned first = 0;
    if (int(lane) == leader)
      first = atomicAdd(&n[0], unsigned(__popcll(some)));
    first = __shfl_sync(some, first, leader);
    x[first + unsigned(__popcll(some & ((offload_lanes(1) << lane) - 1)))] = 1;
  }
}
KERNEL(own_mask_wrong) {
  UNUSED;
  unsigned lane = lane_of_warp();
  if (lane < 4)
    n[index()] = __shfl_sync(0x3, lane, 0); // found: any
}

// ---- shuffles from lanes that do not take part

KERNEL(outside_mask_right) {
  UNUSED;
  unsigned lane = lane_of_warp();
  float sum = x[index()];
  if (lane < 4) {
    sum += __shfl_xor_sync(0xf, sum, 2);
    // A shuffle from the lane itself, or from beyond its group, returns the lane's own value.
    sum += __shfl_sync(0xf, sum, int(lane));
    sum += __shfl_sync(0xf, sum, 9, 4);
    sum += __shfl_down_sync(0xf, sum, 3, 4);
    sum += __shfl_up_sync(0xf, sum, 9);
    sum += __shfl_xor_sync(0xf, sum, 16, 16);
  }
  x[index()] = sum;
}
KERNEL(outside_mask_wrong) {
  UNUSED;
  unsigned lane = lane_of_warp();
  float sum = x[index()];
  if (lane < 4)
    sum += __shfl_down_sync(0xf, sum, 1); // found: any
  x[index()] = sum;
}

KERNEL(returned_lane_right) {
  UNUSED;
  unsigned lane = lane_of_warp();
  if (lane >= 20)
    return;
  n[index()] = __shfl_sync(OFFLOAD_ALL_LANES, lane, int(lane + 1) % 20);
  n[index()] += __reduce_add_sync(OFFLOAD_ALL_LANES, 1u) - 20;
}
KERNEL(returned_lane_wrong) {
  UNUSED;
  unsigned lane = lane_of_warp();
  if (lane >= 20)
    return;
  for (int round = 0; round < 3; ++round)
    lane += __shfl_xor_sync(OFFLOAD_ALL_LANES, lane, 16); // found: any
  n[index()] = lane;
}

// ---- code that is right only with warps of 32 lanes

KERNEL(votes_of_32_right) {
  UNUSED;
  int left = index() % 5;
  while (__any_sync(OFFLOAD_ALL_LANES, left > 0))
    --left;
  n[index()] = left <= 0;
}
KERNEL(votes_of_32_wrong) {
  UNUSED;
  int left = index() % 5;
  while (__any_sync(0xffffffffu, left > 0)) // found: any64
    --left;
  n[index()] = left <= 0;
}

KERNEL(active_32_right) {
  UNUSED;
  offload_lanes active = __activemask();
  x[index()] = __shfl_sync(active, x[index()], __ffsll((long long)active) - 1);
}
KERNEL(active_32_wrong) {
  UNUSED;
  unsigned active = __activemask();
  x[index()] = __shfl_sync(active, x[index()], __ffs(int(active)) - 1); // found: any64
}

KERNEL(rank_of_32_right) {
  UNUSED;
  unsigned lane = lane_of_warp();
  offload_lanes set = __ballot_sync(OFFLOAD_ALL_LANES, lane % 3 == 0);
  n[index()] = unsigned(__popcll(set & ((offload_lanes(1) << lane) - 1)));
}
KERNEL(rank_of_32_wrong) {
  UNUSED;
  unsigned lane = lane_of_warp();
  offload_lanes set = __ballot_sync(OFFLOAD_ALL_LANES, lane % 3 == 0);
  n[index()] = unsigned(__popcll(set & ((1u << lane) - 1))); // found: undefined64
}

// The wrong mask excludes lanes 32 to 63: they wait for the others, which are at the barrier.
KERNEL(sums_of_32_right) {
  UNUSED;
  float sum = x[index()];
  sum += __shfl_xor_sync(OFFLOAD_ALL_LANES, sum, 1);
  __syncthreads();
  x[index()] = sum;
}
KERNEL(sums_of_32_wrong) {
  UNUSED;
  float sum = x[index()];
  sum += __shfl_xor_sync(0xffffffff, sum, 1); // found: stuck64
  __syncthreads(); // found: stuck64
  x[index()] = sum;
}

// ---- memory order: of the warp functions, only __syncwarp orders accesses

KERNEL(shuffle_order_right) {
  UNUSED;
  __shared__ float values[64];
  unsigned t = threadIdx.x;
  values[t] = x[index()];
  float next = __shfl_down_sync(OFFLOAD_ALL_LANES, x[index()], 1);
  __syncwarp();
  x[index()] = next + values[t ^ 1];
}
KERNEL(shuffle_order_wrong) {
  UNUSED;
  __shared__ float values[64];
  unsigned t = threadIdx.x;
  values[t] = x[index()]; // found: races
  float next = __shfl_down_sync(OFFLOAD_ALL_LANES, x[index()], 1);
  x[index()] = next + values[t ^ 1]; // found: races
}

// The first lane reserves places for all lanes.
KERNEL(vote_order_right) {
  UNUSED;
  __shared__ unsigned places[2];
  unsigned lane = lane_of_warp(), warp = threadIdx.x / warpSize;
  if (lane == 0)
    places[warp] = atomicAdd(&n[0], unsigned(warpSize));
  bool any = __any_sync(OFFLOAD_ALL_LANES, lane == 7);
  __syncwarp();
  x[places[warp] + lane] = any;
}
KERNEL(vote_order_wrong) {
  UNUSED;
  __shared__ unsigned places[2];
  unsigned lane = lane_of_warp(), warp = threadIdx.x / warpSize;
  if (lane == 0)
    places[warp] = atomicAdd(&n[0], unsigned(warpSize)); // found: races
  bool any = __any_sync(OFFLOAD_ALL_LANES, lane == 7);
  x[places[warp] + lane] = any; // found: races
}

KERNEL(ballot_order_right) {
  UNUSED;
  unsigned t = threadIdx.x;
  n[index()] = t;
  __syncwarp(__ballot_sync(OFFLOAD_ALL_LANES, 1));
  x[index()] = float(n[unsigned(index()) ^ 1]);
}
KERNEL(ballot_order_wrong) {
  UNUSED;
  unsigned t = threadIdx.x;
  n[index()] = t; // found: races
  (void)__ballot_sync(__activemask(), 1);
  x[index()] = float(n[unsigned(index()) ^ 1]); // found: races
}

// __syncwarp orders only the accesses of the lanes in its mask, not those of the other half.
KERNEL(half_warp_right) {
  UNUSED;
  __shared__ unsigned values[64];
  unsigned t = threadIdx.x;
  values[t] = t;
  __syncwarp(lane_of_warp() < warpSize / 2 ? FIRST_HALF : ~FIRST_HALF);
  n[index()] = values[t ^ 15];
}
KERNEL(half_warp_wrong) {
  UNUSED;
  __shared__ unsigned values[64];
  unsigned t = threadIdx.x;
  values[t] = t; // found: races
  __syncwarp(lane_of_warp() < warpSize / 2 ? FIRST_HALF : ~FIRST_HALF);
  n[index()] = values[t ^ (warpSize / 2)]; // found: races
}

// ---- kernels that end the process, each launched in a separate process

// `exit` may also be the name of a variable.
KERNEL(exit_right) {
  UNUSED;
  bool exit = index() >= size;
  if (exit)
    return;
  n[index()] = 1;
}
KERNEL(exit_wrong) {
  UNUSED;
  n[index()] = 1;
  if (threadIdx.x == 5)
    exit(0); // found: stops
}

KERNEL(quick_exit_right) {
  UNUSED;
  __syncthreads();
  n[index()] = 1;
}
KERNEL(quick_exit_wrong) {
  UNUSED;
  __syncthreads();
  if (index() == 70)
    _Exit(3); // found: stops
}

KERNEL(assert_right) {
  UNUSED;
  assert(index() < size);
  n[index()] = 1;
}
KERNEL(assert_wrong) {
  UNUSED;
  assert(index() < 70); // found: stops
  n[index()] = 1;
}

#if defined(OFFLOAD_CPU) // GPUs have no abort.
KERNEL(abort_right) {
  UNUSED;
  if (n[index()] != 0)
    abort();
}
#endif
KERNEL(abort_wrong) {
  UNUSED;
  if (n[index()] == 0)
    abort(); // found: stops
}

KERNEL(trap_right) {
  UNUSED;
  if (size != 128)
    __builtin_trap();
  n[index()] = 1;
}
KERNEL(trap_wrong) {
  UNUSED;
  if (size == 128)
    __builtin_trap(); // found: stops
  n[index()] = 1;
}

KERNEL(call_trap_right) {
  UNUSED;
  __syncthreads();
  if (size != 128)
    __trap();
  n[index()] = 1;
}
KERNEL(call_trap_wrong) {
  UNUSED;
  __syncthreads();
  if (index() == 70)
    __trap(); // found: stops
  n[index()] = 1;
}

#if defined(OFFLOAD_CPU) // GPUs have no exceptions.
struct left_by_exception {
  unsigned *count;
  ~left_by_exception() { atomicAdd(count, 1u); }
};
KERNEL(exception_right) {
  UNUSED;
  __syncthreads();
  try {
    left_by_exception counts = {&n[0]};
    if (index() % 2 == 0)
      throw 1;
  } catch (int) {
    atomicAdd(&n[1], 1u);
  }
}
#endif
KERNEL(exception_wrong) {
  UNUSED;
  left_by_exception counts = {&n[0]};
  __syncthreads();
  if (index() == 70)
    throw 1; // found: stops
}

// The wrong kernel is launched without dynamic shared memory.
KERNEL(given_shared_right) {
  UNUSED;
  OFFLOAD_DYNAMIC_SHARED(float, tile);
  tile[threadIdx.x] = x[index()];
  x[index()] = tile[threadIdx.x];
}
KERNEL(given_shared_wrong) {
  UNUSED;
  OFFLOAD_DYNAMIC_SHARED(float, tile); // found: stops
  tile[threadIdx.x] = x[index()];
  x[index()] = tile[threadIdx.x];
}

KERNEL(given_extern_right) {
  UNUSED;
  extern __shared__ float tile[];
  tile[threadIdx.x] = x[index()];
  x[index()] = tile[threadIdx.x];
}
KERNEL(given_extern_wrong) { // found: stops
  UNUSED;                    // found: stops
  extern __shared__ float tile[];
  tile[threadIdx.x] = x[index()]; // found: stops
  x[index()] = tile[threadIdx.x];
}

// No GPU has more than 512 KiB of local memory for a thread.
#if defined(OFFLOAD_CPU) // No GPU has that much local memory.
KERNEL(local_memory_right) {
  UNUSED;
  volatile unsigned local[130000];
  unsigned t = threadIdx.x;
  local[t] = t;
  local[129999 - t] = t;
  __syncthreads();
  n[index()] = local[t] + local[129999 - t];
}
#endif
KERNEL(local_memory_wrong) {       // found: stops
  UNUSED;                          // found: stops
  volatile unsigned local[400000]; // found: stops
  unsigned t = threadIdx.x;        // found: stops
  local[t] = t;
  local[399999 - t] = t;
  __syncthreads();
  n[index()] = local[t] + local[399999 - t];
}

// ---- no end

KERNEL(endless) {
  UNUSED;
  volatile float *mine = x + index();
  while (*mine > 0) // found: late
    ;
}

// ---- a race that is not a mistake

// CUDA's guide uses atomicCAS in this way: the first read is only a guess.
__device__ double add(double *address, double value) {
  unsigned long long *bits = reinterpret_cast<unsigned long long *>(address);
  unsigned long long old = *bits, assumed;
  do {
    assumed = old;
    old = atomicCAS(bits, assumed, (unsigned long long)__double_as_longlong(value + __longlong_as_double((long long)assumed)));
  } while (assumed != old);
  return __longlong_as_double((long long)old);
}
KERNEL(cas_loop) {
  UNUSED;
  add(reinterpret_cast<double *>(x), 1.0);
}

// ---- more dynamic shared memory than GPUs have

KERNEL(large_shared) {
  UNUSED;
  n[index()] = shared_values<unsigned>()[0];
}

// ---- orders

// Stores the order in which the threads run.
KERNEL(order) {
  UNUSED;
  unsigned turn = atomicAdd(reinterpret_cast<unsigned *>(x), 1u);
  n[turn & 127] = unsigned(index());
}

// Kernels whose threads wait for each other. expected.rs computes their results in plain Rust.

#include <cooperative_groups.h>

__device__ unsigned thread_of_block() {
  return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
}
__device__ unsigned block_size() { return blockDim.x * blockDim.y * blockDim.z; }

// The sum of each block, computed as a tree.
extern "C" __global__ void __launch_bounds__(1024) tree_sum(const float *x, float *sums) {
  __shared__ float part[1024];
  unsigned t = thread_of_block(), size = block_size();
  part[t] = x[blockIdx.x * size + t];
  __syncthreads();
  for (unsigned step = 512; step > 0; step /= 2) {
    if (t < step && t + step < size)
      part[t] += part[t + step];
    __syncthreads();
  }
  if (t == 0)
    sums[blockIdx.x] = part[0];
}

// Reverses each block's elements, through shared memory whose size the launch sets.
extern "C" __global__ void reverse(double *x) {
  OFFLOAD_DYNAMIC_SHARED(double, tile);
  unsigned t = thread_of_block(), size = block_size();
  tile[t] = x[blockIdx.x * size + t];
  __syncthreads();
  x[blockIdx.x * size + t] = tile[size - 1 - t];
}

// A matrix of gridDim.y * 16 rows and gridDim.x * 16 columns, transposed tile by tile.
extern "C" __global__ void transpose(const int *in, int *out) {
  __shared__ int tile[16][17];
  unsigned columns = gridDim.x * 16, rows = gridDim.y * 16;
  for (unsigned y = threadIdx.y; y < 16; y += blockDim.y)
    tile[y][threadIdx.x] = in[(blockIdx.y * 16 + y) * columns + blockIdx.x * 16 + threadIdx.x];
  __syncthreads();
  for (unsigned y = threadIdx.y; y < 16; y += blockDim.y)
    out[(blockIdx.x * 16 + y) * rows + blockIdx.y * 16 + threadIdx.x] = tile[threadIdx.x][y];
}

// The first `n` prefix sums. Threads from number `n` on return before the first barrier.
extern "C" __global__ void scan(const int *x, int *sums, unsigned n) {
  __shared__ int part[2][1024];
  unsigned t = thread_of_block(), from = 0;
  if (t >= n)
    return;
  part[0][t] = x[t];
  __syncthreads();
  for (unsigned step = 1; step < n; step *= 2, from = 1 - from) {
    part[1 - from][t] = part[from][t] + (t >= step ? part[from][t - step] : 0);
    __syncthreads();
  }
  sums[t] = part[from][t];
}

// Every third thread returns immediately. The other threads vote at barriers, in two rounds.
extern "C" __global__ void votes(int *counts, int *alls, int *anys) {
  unsigned t = thread_of_block();
  if (t % 3 == 2)
    return;
  for (unsigned round = 0; round < 2; ++round) {
    counts[2 * t + round] = __syncthreads_count(t % 2 == round);
    alls[2 * t + round] = __syncthreads_and(t < 500 + round);
    anys[2 * t + round] = __syncthreads_or(t == 7 + round);
  }
}

// Computes the results of 8 warp functions for each thread.
extern "C" __global__ void lanes(const int *x, long long *out) {
  unsigned t = thread_of_block();
  int own = x[t];
  long long wide = own * 0x100000001ll;
  double half = own / 2.0;
  long long *mine = out + 8 * t;
  mine[0] = __shfl_sync(OFFLOAD_ALL_LANES, own, 3);
  mine[1] = __shfl_up_sync(OFFLOAD_ALL_LANES, wide, 5);
  mine[2] = (long long)(2 * __shfl_down_sync(OFFLOAD_ALL_LANES, half, 1, 8));
  mine[3] = __shfl_xor_sync(OFFLOAD_ALL_LANES, own, 9, 16);
  mine[4] = (long long)__ballot_sync(OFFLOAD_ALL_LANES, own % 3 == 0);
  mine[5] = __any_sync(OFFLOAD_ALL_LANES, own == 7) * 2 + __all_sync(OFFLOAD_ALL_LANES, own >= 0);
  __syncwarp();
  if (t % 2 == 0)
    mine[6] = (long long)__activemask();
  else
    mine[6] = __shfl_down_sync(__activemask(), own, 2);
  // The sum over the warp, whatever the warp's size, ends up in the warp's first lane.
  int sum = own;
  for (int step = warpSize / 2; step > 0; step /= 2)
    sum += __shfl_down_sync(OFFLOAD_ALL_LANES, sum, step);
  mine[7] = t % warpSize == 0 ? sum : 0;
}

// Computes 8 results for each thread. All but the first are among lanes that have not returned.
extern "C" __global__ void groups(const int *x, long long *out) {
  namespace cg = cooperative_groups;
  unsigned t = thread_of_block();
  int own = x[t], is_same;
  long long *mine = out + 8 * t;
  cg::thread_block block = cg::this_thread_block();
  auto four = cg::tiled_partition<4>(cg::tiled_partition<16>(block));
  mine[0] = 100 * four.meta_group_rank() + four.meta_group_size();
  if (t % warpSize == 0)
    return;
  mine[1] = __reduce_add_sync(OFFLOAD_ALL_LANES, own);
  mine[2] = __reduce_xor_sync(OFFLOAD_ALL_LANES, own);
  mine[3] = (long long)__match_any_sync(OFFLOAD_ALL_LANES, own % 3);
  mine[4] = (long long)__match_all_sync(OFFLOAD_ALL_LANES, 7, &is_same) * is_same;
  mine[5] = cg::reduce(cg::tiled_partition<8>(block), own, cg::plus<>());
  cg::coalesced_group third = cg::labeled_partition(cg::tiled_partition<32>(block), own % 3);
  cg::coalesced_group pair = cg::tiled_partition(third, 2);
  mine[6] = cg::reduce(pair, own, cg::plus<int>());
  mine[7] = 10 * pair.size() + cg::tiled_partition(cg::thread_group(third), 2).thread_rank();
}

// Calls each atomic function in all threads of the grid.
extern "C" __global__ void atomics(int *i, unsigned *u, unsigned long long *l, float *f, double *d) {
  int t = (int)(blockIdx.x * block_size() + thread_of_block());
  atomicAdd(&i[0], t);
  atomicSub(&i[1], t);
  atomicMin(&i[2], -t);
  atomicMax(&i[3], t);
  atomicAnd(&u[0], ~(1u << (t % 5)));
  atomicOr(&u[1], 1u << (t % 7));
  atomicXor(&u[2], (unsigned)t);
  atomicInc(&u[3], 9);
  atomicDec(&u[4], 9);
  atomicAdd(&l[0], 0x100000001ull * (unsigned)t);
  atomicMax(&l[1], 0x100000000ull + (unsigned)t);
  atomicAdd(&f[0], 1);
  atomicMin(&f[1], -(float)t);
  atomicAdd(&d[0], 0.5 * t);
  atomicMax(&d[1], 0.5 * t);
  if (atomicExch(&u[5], 1u) == 0)
    atomicAdd(&u[6], 1u);
  for (int old = i[4];;) {
    int seen = atomicCAS(&i[4], old, old + 2);
    if (seen == old)
      break;
    old = seen;
  }
  __threadfence();
}

// Sets one bit for each wrong result. The minimum and the maximum of a NaN and a number must be the number.
extern "C" __global__ void extremes(const unsigned *bits, unsigned *wrong) {
  float nan = __uint_as_float(bits[0]), x = __uint_as_float(bits[1]);
  double wide = __hiloint2double((int)bits[2], 1), y = x;
  bool right[] = {
      fminf(nan, x) == x, fminf(x, nan) == x, fmaxf(nan, x) == x, fmaxf(x, nan) == x,
      fmin(nan, x) == x,  fmin(x, nan) == x,  fmax(nan, x) == x,  fmax(x, nan) == x,
      min(nan, x) == x,   min(x, nan) == x,   max(nan, x) == x,   max(x, nan) == x,
      fmin(wide, y) == y, fmin(y, wide) == y, fmax(wide, y) == y, fmax(y, wide) == y,
      fmin(wide, x) == y, fmax(y, nan) == y,  min(wide, y) == y,  max(y, wide) == y,
      __saturatef(nan) == 0,
  };
  *wrong = 0;
  for (bool is_right : right)
    *wrong = *wrong << 1 | !is_right;
}

// Threads at a barrier and threads in a warp function wait for each other.
extern "C" __global__ void stuck() {
  if (threadIdx.x < 16)
    __syncthreads();
  else
    __shfl_sync(OFFLOAD_ALL_LANES, 1, 0);
}

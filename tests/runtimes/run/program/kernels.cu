extern "C" __global__ void saxpy(int n, float a, const float *x, float *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = a * x[i] + y[i];
}

// Reverses each block's elements in dynamic shared memory, which may be larger than necessary.
extern "C" __global__ void __launch_bounds__(256) reverse(const float *x, float *y) {
  OFFLOAD_DYNAMIC_SHARED(float, tile);
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  tile[threadIdx.x] = x[i];
  __syncthreads();
  y[i] = tile[blockDim.x - 1 - threadIdx.x];
}

// Sums each block in a fixed order, no matter which system thread runs the block.
extern "C" __global__ void block_sum(const float *x, float *sums) {
  __shared__ float partial[256];
  int me = threadIdx.x;
  partial[me] = sinf(x[blockIdx.x * blockDim.x + me]);
  __syncthreads();
  for (int half = blockDim.x / 2; half > 0; half /= 2) {
    if (me < half)
      partial[me] += partial[me + half];
    __syncthreads();
  }
  if (me == 0)
    sums[blockIdx.x] = partial[0];
}

#if !defined(OFFLOAD_CPU)
extern "C" __global__ void on_gpus_only(float *y) { y[threadIdx.x] = 1.0f; }
#endif

__device__ float offset;

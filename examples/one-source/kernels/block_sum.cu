// The sum of each block's elements.  The same source for AMD, NVIDIA and the CPU; blocks may have 1 to 1024 threads.
extern "C" __global__ void block_sum(int n, const float *x, float *sums) {
  __shared__ float partial[1024];
  int me = threadIdx.x;
  int i = blockIdx.x * blockDim.x + me;
  partial[me] = i < n ? x[i] : 0.0f;
  __syncthreads();
  // Each round folds the upper part onto the lower one, until one element is left.
  for (int left = blockDim.x; left > 1;) {
    int half = (left + 1) / 2;
    if (me + half < left)
      partial[me] += partial[me + half];
    __syncthreads();
    left = half;
  }
  if (me == 0)
    sums[blockIdx.x] = partial[0];
}

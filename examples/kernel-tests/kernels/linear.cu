// The sum of each block's elements.  Blocks have a power of two threads.
__global__ void block_sum(int n, const float *x, float *sums) {
  __shared__ float part[256];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  part[threadIdx.x] = i < n ? x[i] : 0.0f;
  for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half)
      part[threadIdx.x] += part[threadIdx.x + half];
  }
  if (threadIdx.x == 0)
    sums[blockIdx.x] = part[0];
}

const int TILE = 16;

// c = a * b, of n x n elements, in blocks of TILE x TILE threads.
__global__ void multiply(int n, const float *a, const float *b, float *c) {
  __shared__ float of_a[TILE][TILE], of_b[TILE][TILE];
  int column = blockIdx.x * TILE + threadIdx.x, row = blockIdx.y * TILE + threadIdx.y;
  float sum = 0.0f;
  for (int first = 0; first < n; first += TILE) {
    int across = first + threadIdx.x, down = first + threadIdx.y;
    of_a[threadIdx.y][threadIdx.x] = row < n && across < n ? a[row * n + across] : 0.0f;
    of_b[threadIdx.y][threadIdx.x] = down < n && column < n ? b[down * n + column] : 0.0f;
    __syncthreads();
    for (int k = 0; k < TILE; ++k)
      sum += of_a[threadIdx.y][k] * of_b[k][threadIdx.x];
#ifndef PLANTED_BUG
    __syncthreads(); // no thread fills the tiles again before all have read them
#endif
  }
  if (row < n && column < n)
    c[row * n + column] = sum;
}

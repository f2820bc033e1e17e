// A kernel that uses a device variable, and all shared memory that the runtime offers. A driver
// aligns each array.
__device__ int launches;

extern "C" __global__ void aligned(int *y) {
  extern __shared__ int tile[];
  __shared__ char one[100];
  __shared__ char other[1];
  one[threadIdx.x] = 64 + threadIdx.x;
  tile[threadIdx.x] = y[threadIdx.x];
  if (threadIdx.x == 0) {
    other[0] = 5;
    launches += 1;
  }
  __syncthreads();
  int last = blockDim.x - 1 - threadIdx.x;
  y[threadIdx.x] = tile[last] * 1000 + one[last] * 10 + other[0];
}

// Kernels that need features of launches that OpenCL lacks.

// A driver compiles several forms of this module, each with its own copy of the variables.
__constant__ int table[4];
__device__ int launches;
static __device__ int own;

extern "C" __global__ void reverse(int *y) {
  extern __shared__ int tile[];
  int size = blockDim.x;
  tile[threadIdx.x] = table[threadIdx.x % 4];
  __syncthreads();
  y[threadIdx.x] = tile[size - 1 - threadIdx.x];
  if (threadIdx.x == 0) {
    launches += 1;
    own += 10;
    y[size] = own;
  }
}

extern "C" __global__ void fixed(int *y) {
  __shared__ int tile[1024];
  tile[threadIdx.x] = y[threadIdx.x];
  __syncthreads();
  y[threadIdx.x] = tile[blockDim.x - 1 - threadIdx.x];
}

// Like published reductions, this kernel has a barrier before and in the loop, but none after it.
extern "C" __global__ void fold(int size, int *y) {
  extern __shared__ int tile[];
  int me = threadIdx.x;
  tile[me] = 1;
  __syncthreads();
  for (int half = size / 2; half >= 1; half /= 2) {
    __syncthreads();
    if (me < half)
      tile[me] += tile[me + half];
  }
  if (me == 0)
    y[0] = tile[0];
}

#if defined(OFFLOAD_CPU)
#define REQUIRED
#else
#define REQUIRED __attribute__((reqd_work_group_size(4, 2, 2)))
#endif
extern "C" __global__ REQUIRED void places(int *y) {
  int thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  y[blockIdx.x * 16 + thread] = blockIdx.x * 1000 + threadIdx.z * 100 + threadIdx.y * 10 + threadIdx.x;
}

extern "C" __global__ void __launch_bounds__(64) bounded(int *y) { y[threadIdx.x] = blockDim.x; }

extern "C" __global__ void large(int *y) {
  volatile int all[25000];
  all[y[0]] = threadIdx.x;
  y[threadIdx.x] = all[y[0]];
}

// Kernels whose threads wait for each other, so each thread needs its own stack.
__device__ int doubled(int x);

// Frames of many pages. Each page contains a value that the kernel checks after the wait.
extern "C" __global__ void large_frames(int *out) {
  volatile int frame[20000];
  for (int i = 0; i < 20000; i += 100)
    frame[i] = int(threadIdx.x) + i;
  __syncthreads();
  int wrong = 0;
  for (int i = 0; i < 20000; i += 100)
    wrong += frame[i] != int(threadIdx.x) + i;
  int all = __syncthreads_count(wrong == 0);
  out[blockIdx.x * blockDim.x + threadIdx.x] = wrong == 0 ? all : -1;
}

// Floating-point numbers that stay in registers while other threads run.
extern "C" __global__ void registers(double *out) {
  double a = threadIdx.x, b = a * 1.5, c = a * 2.5, d = a * 3.5, e = a * 4.5, f = a * 5.5, g = a * 6.5, h = a * 7.5;
  for (int round = 0; round < 5; ++round) {
    __syncthreads();
    a += 1, b += a, c += b, d += c, e += d, f += e, g += f, h += g;
  }
  out[threadIdx.x] = a + b + c + d + e + f + g + h;
}

// A warp function, and threads that return before the other threads wait.
extern "C" __global__ void lanes(int *out) {
  int next = __shfl_down_sync(0xffffffff, doubled(threadIdx.x), 1);
  if (threadIdx.x % 2 == 1)
    return;
  __syncthreads();
  out[threadIdx.x] = next;
}

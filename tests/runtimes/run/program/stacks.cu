// Reverses each block's elements.
extern "C" __global__ void turn(int *x) {
  __shared__ int t[1024];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  t[threadIdx.x] = x[i];
  __syncthreads();
  x[i] = t[blockDim.x - 1 - threadIdx.x];
}

// Calls a function of the program, which launches `inner`.
extern "C" __global__ void outer(void (*call)(), int *x) {
  extern __shared__ int given[];
  __shared__ int own;
  given[threadIdx.x] = 7;
  own = 9;
  __syncthreads();
  if (threadIdx.x == 0)
    call();
  __syncthreads();
  x[threadIdx.x] = given[threadIdx.x] + own;
}

__shared__ int last;

// Unless `call` is null, calls this function, which launches `inner` once more.
extern "C" __global__ void inner(void (*call)(), int *x) {
  extern __shared__ int given[];
  given[threadIdx.x] = last = call != nullptr ? 1000 : 2000;
  __syncthreads();
  if (threadIdx.x == 0 && call != nullptr)
    call();
  __syncthreads();
  x[threadIdx.x] = given[threadIdx.x] + last;
}

__attribute__((noinline)) __device__ int deep(int n, volatile int *x) {
  volatile char frame[2048];
  frame[0] = 1;
  return n == 0 ? 0 : deep(n - 1, x) + frame[0];
}

// One thread needs a little over `n` times 2 KiB of stack: before, after or without a barrier.
extern "C" __global__ void before(int n, int *x) {
  if (threadIdx.x == 0)
    *x = deep(n, x);
  __syncthreads();
}
extern "C" __global__ void after(int n, int *x) {
  __syncthreads();
  if (threadIdx.x == 9)
    *x = deep(n, x);
}
extern "C" __global__ void alone(int n, int *x) {
  if (threadIdx.x == 9)
    *x = deep(n, x);
}

// Touches only the lower end of a large frame.
__attribute__((noinline)) __device__ int wide(int n) {
  volatile char frame[1200000];
  frame[n] = 1;
  return frame[n];
}
extern "C" __global__ void frame(int n, int *x) {
  __syncthreads();
  if (threadIdx.x == 9)
    *x = wide(n);
}

// Touches 320 KiB of each thread's stack.
extern "C" __global__ void touch(int *x) {
  __syncthreads();
  if (deep(156, x) == 156)
    x[threadIdx.x] = 1;
}

// These kernels crash in the second block.
// The crash is not an access to a stack.
extern "C" __global__ void null(volatile int *x) {
  if (blockIdx.x == 1)
    *x = 1;
}
extern "C" __global__ void waits(volatile int *x) {
  __syncthreads();
  if (blockIdx.x == 1)
    *x = 1;
}
extern "C" __global__ void divide(int n, int *x) {
  if (blockIdx.x == 1)
    *x = 7 / n;
}
extern "C" __global__ void stops() {
  if (blockIdx.x == 1)
    __builtin_trap();
}
// Sends the signal that __builtin_trap sends on aarch64.
extern "C" __global__ void traps() {
  if (blockIdx.x == 1)
    __asm__ volatile("int3");
}

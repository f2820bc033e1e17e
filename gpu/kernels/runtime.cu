// Kernels for checks of offload-gpu: shared memory, bounds, faults, launches that do nothing.
#include "probe.h"

// Reverses each block's elements in dynamic shared memory. A launch may request more
// shared memory than the kernel uses.
extern "C" __global__ void __launch_bounds__(256) turn(const float *x, float *y) {
  OFFLOAD_DYNAMIC_SHARED(float, tile);
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  tile[threadIdx.x] = x[i];
  __syncthreads();
  y[i] = tile[blockDim.x - 1 - threadIdx.x];
}

extern "C" __global__ void nothing(int n, float a, const float *x, float *y) {
  if (n > 0)
    y[0] = a * x[0];
}

// Writes to an invalid address.
extern "C" __global__ void fault_address(unsigned long long address) { *reinterpret_cast<volatile int *>(address) = 1; }

extern "C" __global__ void fault_trap(int n) {
  if (n == 0)
    __trap();
}

// Ends when the number changes, but nothing changes it.
extern "C" __global__ void fault_endless(volatile int *y) {
  while (*y == 0)
    ;
}

PROBE(probe_runtime)

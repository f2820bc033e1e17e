// A kernel, and beside it the host's function that launches it: what Rust calls.
#include <cuda_runtime.h>

static __global__ void vector_add(int n, const float *a, const float *b, float *sum) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    sum[i] = a[i] + b[i];
}

// sum = a + b, for vectors of the host, on the GPU that is current. Returns what the runtime says.
extern "C" cudaError_t launch_vector_add(int n, const float *a, const float *b, float *sum) {
  size_t size = n * sizeof(float);
  float *all = nullptr; // the three of them, one behind the other
  cudaError_t error = cudaMalloc(&all, 3 * size);
  if (error == cudaSuccess)
    error = cudaMemcpy(all, a, size, cudaMemcpyHostToDevice);
  if (error == cudaSuccess)
    error = cudaMemcpy(all + n, b, size, cudaMemcpyHostToDevice);
  if (error == cudaSuccess) {
    vector_add<<<(n + 255) / 256, 256>>>(n, all, all + n, all + 2 * n);
    error = cudaGetLastError();
  }
  if (error == cudaSuccess)
    error = cudaMemcpy(sum, all + 2 * n, size, cudaMemcpyDeviceToHost);
  cudaFree(all);
  return error;
}

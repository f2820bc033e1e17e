// A second source of the module. Both sources define the functions that launch kernels.
__device__ int doubled(int x) { return 2 * x; }

extern "C" __global__ void saxpy(int n, float a, const float *x, float *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = a * x[i] + y[i];
}

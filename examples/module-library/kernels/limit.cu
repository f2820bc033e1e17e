// x = min(x, to)
extern "C" __global__ void limit(int n, float to, float *x) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    x[i] = fminf(x[i], to);
}

struct Range { int first; long count; };

extern "C" __global__ void saxpy(int n, float a, const float *x, float *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] += a * x[i];
}

extern "C" __global__ void fill(long value, float scale, int offset, Range range, float *out) {
  out[offset + range.first] = value * scale;
}

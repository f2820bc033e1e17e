// sum = a + b.  No include: offload-build brings its own header.
extern "C" __global__ void vector_add(int n, const float *a, const float *b, float *sum) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    sum[i] = a[i] + b[i];
}

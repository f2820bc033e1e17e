// Exact in every image: small whole numbers, turned around in each block of 64 threads.
extern "C" __global__ void probe(const float *x, float *y, int n) {
  __shared__ float tile[64];
  int i = int(blockIdx.x * blockDim.x + threadIdx.x);
  tile[threadIdx.x] = i < n ? x[i] : 0;
  __syncthreads();
  if (i < n)
    y[i] = fmaf(2, tile[63 - threadIdx.x], float(i));
}

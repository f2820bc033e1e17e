// Ten kernels with the parameters (n, input, output). `cpu.rs` implements them in Rust, too.
// `pocl.rs` converts this text to OpenCL C.

extern "C" __global__ void saxpy(int n, const float *x, float *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = 0.5f * x[i] + y[i];
}

extern "C" __global__ void gelu(int n, const float *x, float *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    float v = x[i];
    y[i] = 0.5f * v * (1.0f + tanhf(0.79788456f * (v + 0.044715f * v * v * v)));
  }
}

extern "C" __global__ void block_sum(int n, const float *x, float *y) {
  __shared__ float partial[256];
  int me = threadIdx.x, i = blockIdx.x * 256 + me;
  partial[me] = i < n ? x[i] : 0.0f;
  __syncthreads();
  for (int rest = 128; rest > 0; rest >>= 1) {
    if (me < rest)
      partial[me] += partial[me + rest];
    __syncthreads();
  }
  if (me == 0)
    y[blockIdx.x] = partial[0];
}

extern "C" __global__ void mandel(int n, const float *x, float *y) {
  int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
  float real = -2.0f + 3.0f * column / n, imaginary = -1.5f + 3.0f * row / n, a = 0.0f, b = 0.0f;
  int round = 0;
  while (round < 500 && a * a + b * b < 4.0f) {
    float next = a * a - b * b + real;
    b = 2.0f * a * b + imaginary;
    a = next;
    round++;
  }
  y[row * n + column] = round;
}

extern "C" __global__ void naive(int n, const float *x, float *y) {
  int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
  float sum = 0.0f;
  for (int i = 0; i < n; i++)
    sum += x[row * n + i] * x[i * n + column];
  y[row * n + column] = sum;
}

extern "C" __global__ void tiled(int n, const float *x, float *y) {
  __shared__ float left[16][16], right[16][16];
  int me = threadIdx.x, other = threadIdx.y;
  int column = blockIdx.x * 16 + me, row = blockIdx.y * 16 + other;
  float sum = 0.0f;
  for (int tile = 0; tile < n; tile += 16) {
    left[other][me] = x[row * n + tile + me];
    right[other][me] = x[(tile + other) * n + column];
    __syncthreads();
    for (int i = 0; i < 16; i++)
      sum += left[other][i] * right[i][me];
    __syncthreads();
  }
  y[row * n + column] = sum;
}

extern "C" __global__ void nbody(int n, const float *x, float *y) {
  __shared__ float tile[256];
  int i = blockIdx.x * 256 + threadIdx.x;
  float here = x[i], force = 0.0f;
  for (int first = 0; first < n; first += 256) {
    tile[threadIdx.x] = x[first + threadIdx.x];
    __syncthreads();
    for (int j = 0; j < 256; j++) {
      float d = tile[j] - here;
      force += d / sqrtf(d * d * d * d * d * d + 0.01f);
    }
    __syncthreads();
  }
  y[i] = force;
}

extern "C" __global__ void stencil(int n, const float *x, float *y) {
  __shared__ float tile[264];
  int me = threadIdx.x, i = blockIdx.x * 256 + me;
  tile[me + 4] = x[i];
  if (me < 4) {
    tile[me] = i >= 4 ? x[i - 4] : 0.0f;
    tile[me + 260] = i + 256 < n ? x[i + 256] : 0.0f;
  }
  __syncthreads();
  float sum = 0.0f;
  for (int k = 0; k < 9; k++)
    sum += tile[me + k];
  y[i] = sum;
}

// Writes a histogram for every 16,384 elements.
extern "C" __global__ void histogram(int n, const float *x, float *y) {
  __shared__ int counts[256];
  int me = threadIdx.x;
  counts[me] = 0;
  __syncthreads();
  for (int i = 0; i < 16384; i += 256)
    atomicAdd(&counts[(int)(x[blockIdx.x * 16384 + i + me] * 64.0f + 128.0f)], 1);
  __syncthreads();
  y[blockIdx.x * 256 + me] = counts[me];
}

extern "C" __global__ void warp_sum(int n, const float *x, float *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = x[i];
  for (int lanes = 16; lanes > 0; lanes >>= 1)
    sum += __shfl_down_sync(0xffffffff, sum, lanes);
  if (threadIdx.x % 32 == 0)
    y[i / 32] = sum;
}

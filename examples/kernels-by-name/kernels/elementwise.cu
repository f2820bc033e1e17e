// A kernel for each operation and type of numbers, as libraries of tensors have them.

// What `relu` makes of numbers below zero: the program writes this factor.
__constant__ float slope;

template <typename T> __global__ void relu(unsigned n, T *x) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && x[i] < 0)
    x[i] *= slope;
}
template __global__ void relu<float>(unsigned, float *);
template __global__ void relu<double>(unsigned, double *);

template <typename T> __device__ void square(unsigned n, const T *x, T *y) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = x[i] * x[i];
}
extern "C" __global__ void square_f32(unsigned n, const float *x, float *y) { square(n, x, y); }
extern "C" __global__ void square_f64(unsigned n, const double *x, double *y) { square(n, x, y); }
extern "C" __global__ void square_i32(unsigned n, const int *x, int *y) { square(n, x, y); }

// A kernel for each function of offload/math.h that the host's C library has, too, for float and double. A stand-in for a GPU
// has a macro of its own, since the functions for the CPU are the C library's.
#ifndef ONE
#define ONE(name)                                                                                                      \
  extern "C" __global__ void name##_float(const float *x, float *y, int n) {                                          \
    for (int i = int(blockIdx.x * blockDim.x + threadIdx.x); i < n; i += int(gridDim.x * blockDim.x))                 \
      y[i] = name##f(x[i]);                                                                                           \
  }                                                                                                                   \
  extern "C" __global__ void name##_double(const double *x, double *y, int n) {                                       \
    for (int i = int(blockIdx.x * blockDim.x + threadIdx.x); i < n; i += int(gridDim.x * blockDim.x))                 \
      y[i] = name(x[i]);                                                                                              \
  }
#endif
ONE(exp) ONE(exp2) ONE(expm1) ONE(log) ONE(log2) ONE(log10) ONE(log1p) ONE(cbrt) ONE(sqrt)
ONE(sin) ONE(cos) ONE(tan) ONE(asin) ONE(acos) ONE(atan)
ONE(sinh) ONE(cosh) ONE(tanh) ONE(asinh) ONE(acosh) ONE(atanh) ONE(erf) ONE(erfc)

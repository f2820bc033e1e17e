// Functions of offload/math.h for float and double, numbered in the order of src/checks/math.rs.
#include "probe.h"

#if defined(STAND_IN)
// For the CPU, the functions come from the C library. Fake GPUs use the functions for GPUs.
#include <offload/math_angle.h>
#include <offload/math_exp.h>
#define OURS(name, suffix) offload_math::name
#else
#define OURS(name, suffix) name##suffix
#endif

#define OF_ONE(f, suffix)                                                                                              \
  f(0, OURS(exp, suffix)) f(1, OURS(exp2, suffix)) f(2, OURS(exp10, suffix)) f(3, OURS(expm1, suffix))                 \
  f(4, OURS(log, suffix)) f(5, OURS(log2, suffix)) f(6, OURS(log10, suffix)) f(7, OURS(log1p, suffix))                 \
  f(8, OURS(cbrt, suffix)) f(9, OURS(rsqrt, suffix)) f(10, OURS(sin, suffix)) f(11, OURS(cos, suffix))                 \
  f(12, OURS(tan, suffix)) f(13, OURS(sinpi, suffix)) f(14, OURS(cospi, suffix)) f(15, OURS(asin, suffix))             \
  f(16, OURS(acos, suffix)) f(17, OURS(atan, suffix)) f(18, OURS(sinh, suffix)) f(19, OURS(cosh, suffix))              \
  f(20, OURS(tanh, suffix)) f(21, OURS(asinh, suffix)) f(22, OURS(acosh, suffix)) f(23, OURS(atanh, suffix))           \
  f(24, OURS(erf, suffix)) f(25, OURS(erfc, suffix)) f(26, sqrt##suffix) f(27, floor##suffix) f(28, ceil##suffix)      \
  f(29, trunc##suffix) f(30, rint##suffix) f(31, round##suffix) f(32, fabs##suffix)
#define OF_TWO(f, suffix)                                                                                              \
  f(33, OURS(pow, suffix)) f(34, OURS(hypot, suffix)) f(35, OURS(atan2, suffix)) f(36, OURS(fmod, suffix))             \
  f(37, fmin##suffix) f(38, fmax##suffix) f(39, copysign##suffix) f(40, fdim##suffix)

#define CASE_OF_ONE(number, name) case number: out[i] = name(x[i]); break;
#define CASE_OF_TWO(number, name) case number: out[i] = name(x[i], y[i]); break;

#define COMPUTE(suffix)                                                                                                \
  {                                                                                                                    \
    int i = blockIdx.x * blockDim.x + threadIdx.x;                                                                     \
    if (i >= n)                                                                                                        \
      return;                                                                                                          \
    switch (function) {                                                                                                \
      OF_ONE(CASE_OF_ONE, suffix)                                                                                      \
      OF_TWO(CASE_OF_TWO, suffix)                                                                                      \
    }                                                                                                                  \
  }
extern "C" __global__ void math_float(int function, int n, const float *x, const float *y, float *out) COMPUTE(f)
extern "C" __global__ void math_double(int function, int n, const double *x, const double *y, double *out) COMPUTE()

PROBE(probe_math)

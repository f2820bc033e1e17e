#include <cuda_bf16.h>
#include <cuda_fp16.h>

struct Range { int first; long count; };

extern "C" __global__ void saxpy(int n, float a, const float *x, float *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] += a * x[i];
}

extern "C" __global__ void fill(long value, float scale, int offset, Range range, float *out) {
  out[offset + range.first] = value * scale;
}

extern "C" __global__ void values(size_t n, __half h, __nv_bfloat16 b, float4 v, float *out) {
  out[n] = float(h) + float(b) + v.x;
}

extern "C" __global__ void pointers(const __half *in, __nv_bfloat16 *out, bool *flags, const size_t *dims, float4 *points,
                                    void *any) {
  flags[*dims] = any != 0 && in != 0 && out != 0 && points != 0;
}

enum Mode : unsigned char { Fast, Exact };
struct Abs {};
struct Neg {};
struct Body { float mass; double speed; Mode mode; };
struct Other { float mass; double speed; Mode mode; };

extern "C" __global__ void push(const Abs op, Body *bodies, const Body by, Mode mode, const Other *others) {
  bodies->speed += by.speed + (mode == Exact ? others->speed : 0);
}

__constant__ float table[4];
static __device__ int hidden;
#if defined(__AMDGCN__) || defined(__SPIRV__)
__device__ int differs;
#else
__device__ float differs;
#endif

extern "C" __global__ void turn(const Neg op, Body *bodies) { bodies->mass = -bodies->mass * hidden; }

template <typename T> __global__ void offset(int n, T by, T *y) { y[n] += by; }
template __global__ void offset<float>(int, float, float *);
template __global__ void offset<double>(int, double, double *);
template __global__ void offset<long>(int, long, long *);
template __global__ void offset<long long>(int, long long, long long *);

template <typename T, typename U> __global__ void convert(int n, const T *x, U *y) { y[n] = x[n]; }
template __global__ void convert<float, int>(int, const float *, int *);
template __global__ void convert<double, float>(int, const double *, float *);

template <int N> __global__ void repeat(int *y) { *y = N; }
template __global__ void repeat<2>(int *);
template __global__ void repeat<4>(int *);

// The small types of cuda_fp16.h, cuda_bf16.h and cuda_fp8.h: conversions both ways, and arithmetic of halves.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include "probe.h"

#define INDEX                                                                                                          \
  int i = blockIdx.x * blockDim.x + threadIdx.x;                                                                       \
  if (i >= n)                                                                                                          \
  return

extern "C" __global__ void small_to_float(int n, float *half, float *bfloat, float *e4m3, float *e5m2) {
  INDEX;
  half[i] = __half2float(__ushort_as_half((unsigned short)i));
  bfloat[i] = __bfloat162float(__ushort_as_bfloat16((unsigned short)i));
  e4m3[i] = __half2float(__half(__nv_cvt_fp8_to_halfraw((unsigned char)i, __NV_E4M3)));
  e5m2[i] = __half2float(__half(__nv_cvt_fp8_to_halfraw((unsigned char)i, __NV_E5M2)));
}

extern "C" __global__ void float_to_small(int n, const float *x, unsigned short *half, unsigned short *bfloat,
                                          unsigned char *e4m3, unsigned char *e5m2) {
  INDEX;
  half[i] = __half_as_ushort(__float2half_rn(x[i]));
  bfloat[i] = __bfloat16_as_ushort(__float2bfloat16_rn(x[i]));
  e4m3[i] = __nv_cvt_float_to_fp8(x[i], __NV_SATFINITE, __NV_E4M3);
  e5m2[i] = __nv_cvt_float_to_fp8(x[i], __NV_SATFINITE, __NV_E5M2);
}

extern "C" __global__ void half_arithmetic(int n, const unsigned short *x, const unsigned short *y, unsigned short *out) {
  INDEX;
  __half a = __ushort_as_half(x[i]), b = __ushort_as_half(y[i]);
  out[3 * i] = __half_as_ushort(__hadd(a, b));
  out[3 * i + 1] = __half_as_ushort(__hsub(a, b));
  out[3 * i + 2] = __half_as_ushort(__hmul(a, b));
}

PROBE(probe_halves)

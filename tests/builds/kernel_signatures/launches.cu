// Kernels with the same parameters as dfdx's kernels.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

extern "C" __global__ void neg_f16(const size_t numel, const __half *inp, __half *out) {
  for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < numel; i += blockDim.x * gridDim.x)
    out[i] = -(inp != nullptr ? inp[i] : out[i]);
}

extern "C" __global__ void fill_with_f16(__half *buf, __half value, const size_t numel) {
  for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < numel; i += blockDim.x * gridDim.x)
    buf[i] = value;
}

extern "C" __global__ void sum_to_f16(const size_t numel, const size_t num_dims, const __half elems_per_thread,
                                      const size_t chunk_len, const size_t *info, const __half *inp, __half *out) {
  const size_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i * chunk_len >= numel)
    return;
  // The strides come after the dimensions.
  const size_t stride = info[num_dims + num_dims - 1];
  __half sum = 0;
  for (size_t at = 0; at < chunk_len; ++at)
    sum += inp[(i * chunk_len + at) * stride];
  out[i] = sum * elems_per_thread;
}

extern "C" __global__ void badd_fwd_bf16(const size_t numel, const size_t num_dims, const size_t *info, const __nv_bfloat16 *lhs,
                                         const __nv_bfloat16 *rhs, __nv_bfloat16 *out) {
  const size_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < numel && info[0] == num_dims)
    out[i] = lhs[i] + rhs[i];
}

extern "C" __global__ void choose_f32(const size_t numel, const bool *cond, const float *lhs, const float *rhs, float *out) {
  const size_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < numel)
    out[i] = cond[i] ? lhs[i] : rhs[i];
}

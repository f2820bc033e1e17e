//! Host functions in a kernel source. They must compile if they only call functions that CUDA
//! provides for both host and device. If they need the vendor's library, the error must contain
//! advice.

use super::{AMD, CPU, NVIDIA, SPIRV, built, checked};
use offload_tests::prelude::*;

/// Host functions, and one function for host and device. They call functions of C, and functions
/// that CUDA provides for both host and device.
const BOTH_SIDES: &str = "
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
inline float twice(__half x) { return 2 * __half2float(x); }
inline dim3 blocks(int n) { return dim3((n + 255) / 256, 1, 1); }
inline float4 ones() { return make_float4(1, 1, 1, 1); }
__host__ __device__ inline float both(float x) { return expf(x) * rsqrtf(x) + __half2float(__float2half(x)); }
static void reference(const __half *x, const __nv_bfloat16 *b, float *y, int n) {
  std::vector<float> sums(n);
  for (int i = 0; i < n; i++) {
    sums[i] = sinf(twice(x[i])) + float(b[i]) + __popc(i) + max(1, i) + std::max(2, i) + abs(-i);
    __half2 two = __hadd2(__halves2half2(x[i], x[i]), __float2half2_rn(1.0f));
    y[i] = __low2float(two) + sums[i] + float(x[i] + x[i]) + __int_as_float(3) + __fmul_rn(y[i], 2.0f) + both(y[i]);
    y[i] += ones().x + make_int2(1, 2).y + __dp4a(1, 2, 3) + float(__nv_fp8_e4m3(1.0f)) + norm3d(1., 2., 3.);
    if (x[i] > __half(1.0f) && blocks(n).x > 1)
      printf(\"%f\\n\", y[i]);
  }
  void *bytes = malloc(4);
  memcpy(bytes, memset(y, 0, 4), 4);
  free(bytes);
}
void check(const __half *x, const __nv_bfloat16 *b, float *y) { reference(x, b, y, 3); }
extern \"C\" __global__ void k(const __half *x, float *y) { y[threadIdx.x] = 2 * __half2float(x[threadIdx.x]) + both(y[1]); }
";

#[test(CLANG.slow())]
fn host_functions_call_what_cuda_has_for_both_sides() {
    built("header_host", &["gfx90a", "gfx1100", "compute_80", "spirv64", "cpu"], BOTH_SIDES);
}

#[test(CLANG)]
fn host_functions_need_no_include() {
    let folder = scratch::folder("header-host-names");
    let source = "void check(float *y) {\n  dim3 size(3);\n  float4 all = make_float4(size.x, 1, 2, 3);\n  \
         y[0] = all.x + max(1, 2) + min(1.f, 3.f);\n  assert(y[0] > 1);\n  \
         memcpy(y + 1, memset(y, 0, 4), 4);\n  \
         y[1] = powf(2, 3) + sqrt(2) + sqrt(2.0) + fabs(y[0] - 1.0f) + pow(y[0], 2) + fmax(1.0, y[0]);\n  \
         if (y[0] > y[1])\n    exit(1);\n  printf(\"%f\\n\", y[0]);\n}\n\
         __host__ __device__ float both(float x) {\n  if (x < 0)\n    __trap();\n  return x;\n}\n\
         __global__ void k(float *y) { y[0] = 1; }\n";
    for options in [AMD, NVIDIA, SPIRV, CPU] {
        succeed(&mut checked(&folder, source, &format!("{options} -Wall -Wextra -Werror")));
    }
}

/// Each message must name what is missing. The code that the advice suggests must compile.
#[test(CLANG.slow())]
fn host_code_has_advice() {
    let scenario = Scenario::new("header_host_code");
    let build = |targets: &[&str], code: &str| {
        let kernel = "#include <cuda_runtime.h>\n\
                      extern \"C\" __global__ void k(float *y) { y[0] = 1; }\n";
        scenario.pack("k", &format!(".file(\"kernels/k.cu\").archs({targets:?})"));
        scenario.write("kernels/k.cu", format!("{kernel}{code}\n")).build()
    };
    let launch = "void run(float *y) { k<<<1, 32>>>(y); }";
    let streams = "extern \"C\" void run(float *y, cudaStream_t s) { k<<<1, 32, 0, s>>>(y); }";
    for (target, named, code) in [
        ("gfx90a", "cudaMalloc", "void run(float **y) { cudaMalloc(y, 4); }"),
        ("cpu", "cudaSuccess", "int main() { return cudaGetLastError() != cudaSuccess; }"),
        ("spirv64", "hipDeviceSynchronize", "void run() { hipDeviceSynchronize(); }"),
        ("compute_80", "cudaStream_t", streams),
        ("compute_80", "<<<1, 32>>>", launch),
        ("gfx90a", "<<<1, 32>>>", launch),
        ("cpu", "<<<1, 32>>>", launch),
    ] {
        build(&[target], code)
            .fails()
            .has(named)
            .has("a pack contains only kernels, but this source also has host code, ");
    }
    let guarded = format!("#if !defined(OFFLOAD_KERNEL_H)\n{launch}\n{streams}\n#endif\n");
    build(&["gfx90a", "compute_80", "spirv64", "cpu"], &guarded).passes();
}

//! The oldest supported compilers, clang 15 and g++ 11, build the same code as the newest. The
//! tests use these compilers, and `ptxas` checks their output.

use offload_tests::registry::needs;
use offload_tests::scenario::Scenario;
use offload_tests::tools::{Tool, cuda, oldest};

offload_tests::tests! {
    needs(&[Tool::Oldest, Tool::Gcc, Tool::Cuda]) => [all_headers_for_every_kind_of_target, other_languages_for_amd],
}

/// Every header of the kit, with features of each that compilers could lack.
const ALL_HEADERS: &str = "#include <cuda_bf16.h>\n#include <cuda_fp16.h>\n#include <cuda_fp8.h>\n#include <cuda_runtime.h>\n\
    extern \"C\" __global__ void k(__half *x, __nv_bfloat16 *y, __nv_fp8_e4m3 *z, float4 *v, __half2 *w, int *n) {\n  \
      __shared__ float tile[64];\n  int i = threadIdx.x;\n  \
      x[i] = hexp(x[i]) * __half(2.0f) + __hmax_nan(x[i], x[i + 1]);\n  \
      y[i] = __hfma(y[i], __nv_bfloat16(v[i].x), y[i]) - y[i];\n  z[i] = __nv_fp8_e4m3(float(x[i]));\n  \
      w[i] = __hmul2(w[i], __float22half2_rn(make_float2(v[i].y, v[i].z)));\n  atomicAdd(x, x[i]);\n  \
      tile[i] = sinf(v[i].x) + expf(v[i].y) + __shfl_xor_sync(0xffffffff, v[i].z, 1);\n  __syncthreads();\n  \
      v[i].w = tile[63 - i] + powf(v[i].x, 0.5f);\n  atomicAdd(n, __popc(n[i]));\n  atomicMax(n + 1, i);\n}\n";

fn all_headers_for_every_kind_of_target() {
    let scenario = Scenario::new("oldest_headers");
    let targets = ["gfx90a", "gfx1030", "sm_80", "compute_60", "cpu"];
    scenario
        .pack("k", &format!(r#".file("kernels/k.cu").archs({targets:?})"#))
        .write("kernels/k.cu", ALL_HEADERS);
    let clang = oldest("usr/lib/llvm-15/bin/clang");
    let build = || {
        let build = scenario
            .build()
            .env("OFFLOAD_CLANG", &clang)
            .env("OFFLOAD_PTXAS", cuda("ptxas").get_program());
        build.env("CXX", oldest("usr/bin/g++-11"))
    };
    build().passes();
    build().release().passes();
    assert_eq!(scenario.targets("k"), targets);
    build()
        .release()
        .env("CXX", oldest("usr/lib/llvm-15/bin/clang++"))
        .env("OFFLOAD_ARCH", "cpu")
        .passes();
}

fn other_languages_for_amd() {
    let scenario = Scenario::new("oldest_languages");
    scenario.pack("k", r#".module(offload_build::Module::new("cl").file("kernels/k.cl")).module(offload_build::Module::new("hip").file("kernels/k.hip")).archs(["gfx906", "gfx90a:xnack-"])"#);
    scenario.write("kernels/k.cl", "kernel void k(global float *x) { x[0] = 1; }\n");
    scenario.write(
        "kernels/k.hip",
        "extern \"C\" __global__ void h(float *x) { x[threadIdx.x] = 1; }\n",
    );
    scenario.build().env("OFFLOAD_CLANG", oldest("usr/lib/llvm-15/bin/clang")).passes();
}

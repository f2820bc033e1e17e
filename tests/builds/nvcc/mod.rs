//! NVIDIA's toolkit as build scripts use it: nvcc, and CUDA's headers with clang.

mod flag_variables;
mod images;
pub mod lowered_ptx;
mod messages;
mod prebuilt_set;
mod profile;
pub mod rebuilds;
mod toolkits;

use offload_tests::prelude::*;

/// A kernel that uses one of CUDA's headers and one of the package's.
const HALF: &str = r#"#include <cuda_fp16.h>
#include "factor.h"
extern "C" __global__ void scale(int n, __half *x) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    x[i] = __hmul(x[i], __float2half(FACTOR));
}
"#;

const FACTOR: &str = "#define FACTOR 2.5f\n";

/// A kernel without headers.
const PLAIN: &str = "extern \"C\" __global__ void f(float *x) { x[threadIdx.x] *= 2.0f; }\n";

/// A function that the kernel in [`CALLER`] calls.
const CALLED: &str = "__device__ float called(float x) { return x * 3.0f; }\n";

const CALLER: &str = "__device__ float called(float x);\n\
                      extern \"C\" __global__ void call(float *x) { x[threadIdx.x] = called(x[threadIdx.x]); }\n";

/// The calls for a pack with one image from nvcc.
const ONE_IMAGE: &str = r#".file("kernels/half.cu").compiler(Compiler::Nvcc).archs(["sm_80"])"#;

/// Returns the path of the tests' toolkit.
fn cuda_home() -> PathBuf {
    env::var_os("CUDA_HOME").expect("Tool::Nvcc was checked").into()
}

/// Returns a package that makes the pack "pack" with these calls. The package contains all of the
/// kernels above.
fn package(name: &str, calls: &str) -> Scenario {
    let scenario = Scenario::new(name);
    scenario
        .pack("pack", calls)
        .write("kernels/half.cu", HALF)
        .write("kernels/factor.h", FACTOR)
        .write("kernels/plain.cu", PLAIN)
        .write("kernels/called.cu", CALLED)
        .write("kernels/caller.cu", CALLER);
    scenario
}

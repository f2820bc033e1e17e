//! A package with C++ and a library of launchers. The crate `cc` compiles the C++ with nvcc,
//! because of `.cuda(true)`, and this kit builds the library. The linker, `cuobjdump`, and the
//! program check the results.

use super::{kernels, results_of_a_launch};
use offload_tests::judges::cuda_images;
use offload_tests::prelude::*;

/// The C++ uses CUDA's headers without naming their folder, and one of nvcc's keywords.
const HOST: &str = r#"#include <cuda_runtime.h>
#ifndef __NVCC__
#error nvcc compiles this file
#endif
extern "C" int launch_scale(float *x, float by);
struct Range { float from, to; __host__ __device__ float middle() const { return (from + to) / 2; } };
extern "C" int scale_to_middle(float *x, float from, float to) {
  cudaGetLastError();
  return launch_scale(x, Range{from, to}.middle());
}
"#;

const KERNEL: &str = "__global__ void scale(float *x, float by) { x[threadIdx.x] *= by; }\n\
    extern \"C\" int launch_scale(float *x, float by) { scale<<<1, 32>>>(x, by); return cudaGetLastError(); }\n";

#[test(NVCC.slow())]
fn cxx_that_nvcc_compiles_is_linked_beside_a_library() {
    let scenario = Scenario::without_sources("cxx_by_nvcc");
    scenario.manifest("build-dependencies", "cc = \"1\"");
    // Linkers look for `launch_scale` only in later libraries, so `host` comes first. This kit's
    // library adds CUDA's runtime for both libraries.
    scenario
        .build_script(
            r#"cc::Build::new().cuda(true).cudart("none").file("cxx/host.cpp").compile("host");
    Build::new().file("kernels/scale.cu").compiler(Compiler::Nvcc).archs(["sm_80", "compute_80"]).compile_static("scale");"#,
        )
        .write("cxx/host.cpp", HOST)
        .write("kernels/scale.cu", KERNEL)
        .write(
            "src/main.rs",
            r#"unsafe extern "C" {
    fn scale_to_middle(x: *mut f32, from: f32, to: f32) -> i32;
}

fn main() {
    // SAFETY: a launch does not follow the pointer.
    println!("[{}]", unsafe { scale_to_middle(std::ptr::null_mut(), 1.0, 2.0) });
}
"#,
        );
    // Both `cc` and offload-build read this variable.
    scenario.build().env("NVCC", cuda("nvcc").get_program()).passes();
    let program = scenario.program("debug", scenario.name());
    assert_eq!(kernels(&program, "sm_80"), ["_Z5scalePff"]);
    assert_eq!(cuda_images(&program), ["sm_80.cubin", "sm_80.ptx"], "the C++ adds no image");
    let printed = scenario.start("debug").passes().stdout;
    assert!(results_of_a_launch().iter().any(|it| printed == format!("[{it}]\n")), "{printed}");
}

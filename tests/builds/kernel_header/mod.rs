//! offload/kernel.h: what a kernel may say, compiled for both vendors' GPUs and the CPU.

mod cpu;
mod float16;
mod gpu;
mod math;

use offload_tests::package::Package;
use offload_tests::registry::CLANG;
use offload_tests::scratch;
use offload_tests::tools::{Tool, llvm, llvm_bin, stdout, succeed};
use std::path::PathBuf;

offload_tests::tests! {
    CLANG => [
        launch_bounds_reach_both_vendors,
        headers_of_the_standard_library_and_names_of_users_live_beside_it,
    ];
    cpu::tests(),
    float16::tests(),
    gpu::tests(),
    math::tests(),
}

const NEEDS: &[Tool] = &[Tool::Llvm22, Tool::Gcc];

/// What `-I` needs for `#include <offload/kernel.h>`.
fn header_folder() -> PathBuf {
    scratch::workspace().join("offload-build/include")
}

/// Builds a package with one kernel file for these targets.
fn build(name: &str, targets: &str, source: &str) -> Package {
    let package = Package::new(name);
    package.write("src/lib.rs", "").write("kernels/k.cu", source).write(
        "build.rs",
        format!("fn main() {{\n    offload_build::Build::new().file(\"kernels/k.cu\").archs([{targets}]).compile(\"k\");\n}}\n"),
    );
    succeed(package.cargo(&["build", "--release"]).env("OFFLOAD_CLANG", llvm_bin().join("clang")));
    package
}

fn ptx(package: &Package, name: &str) -> String {
    std::fs::read_to_string(package.output("release", name, "k/compute_80.ptx")).expect("the image is text")
}

fn notes(package: &Package, name: &str) -> String {
    stdout(&succeed(llvm("llvm-readelf").arg("--notes").arg(package.output("release", name, "k/gfx90a.hsaco"))))
}

fn launch_bounds_reach_both_vendors() {
    const NAME: &str = "header_bounds";
    let package = build(
        NAME,
        r#""gfx90a", "compute_80", "cpu""#,
        "extern \"C\" __global__ void __launch_bounds__(192) one(float *y) { y[threadIdx.x] = 1; }\n\
         extern \"C\" __global__ void __launch_bounds__(64, 2) two(float *y) { y[threadIdx.x] = 2; }\n",
    );
    let notes = notes(&package, NAME);
    let sizes: Vec<&str> =
        notes.lines().filter_map(|line| line.trim().strip_prefix(".max_flat_workgroup_size:")).map(str::trim).collect();
    assert_eq!(sizes, ["192", "64"], "{notes}");
    let ptx = ptx(&package, NAME);
    assert!(ptx.contains(".maxntid 192") && ptx.contains(".maxntid 64") && ptx.contains(".minnctapersm 2"), "{ptx}");
}

/// Each of these did not compile once, for one target or the other.
fn headers_of_the_standard_library_and_names_of_users_live_beside_it() {
    build(
        "header_neighbours",
        r#""gfx90a", "gfx1100", "compute_80", "cpu""#,
        "#include <algorithm>\n#include <cmath>\n#include <cstdint>\n#include <cstdlib>\n#include <math.h>\n\
         #include <memory>\n#include <new>\n#include <utility>\n\
         struct Properties { int warpSize; };\n\
         __noinline__ __device__ int lanes(Properties p) { return p.warpSize + warpSize; }\n\
         extern \"C\" __global__ void k(int32_t *y) {\n\
           dim3 all(gridDim.x * blockDim.x);\n\
           Properties p = {int(all.x)};\n\
           float x = sqrtf(y[0]) + sin(float(y[1])) + fabs(2.5) + (isnan(float(y[2])) ? 1 : 0) + __expf(1.0f) + pow(2, 0.5f) + sqrt(y[5]);\n\
           y[threadIdx.x] = lanes(p) + int(x) + abs(y[3]) + min(y[4], 5);\n}\n",
    );
}

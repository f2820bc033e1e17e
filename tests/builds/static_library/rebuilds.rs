//! When a static library is compiled again. Also tests that its bytes do not depend on folders. The
//! tests compare the times of files and their bytes.

use super::FACTOR;
use offload_tests::data::read;
use offload_tests::registry::{NOTHING, Needs, needs};
use offload_tests::scenario::Scenario;
use offload_tests::scratch;
use offload_tests::tools::{Tool, rocm};

const CLANG_CUDA: Needs = needs(&[Tool::Nvcc, Tool::Cuda, Tool::Gcc, Tool::Llvm22]);

const HIP: Needs = needs(&[Tool::Rocm, Tool::Hip5, Tool::Gcc, Tool::Llvm22]);

offload_tests::tests! {
    CLANG_CUDA.slow() => [a_header_that_only_cuda_devices_include_counts],
    HIP.slow() => [a_generated_source_makes_the_same_bytes_in_any_folder, a_header_that_only_an_amd_device_includes_counts],
    NOTHING => [nothing_is_compiled_when_skipped],
}

fn a_header_that_only_cuda_devices_include_counts() {
    let scenario = Scenario::new("static_device_headers");
    header_of_devices(&scenario, "scale.cu", "cuda_runtime.h", "__CUDA_ARCH__", ["sm_80", "sm_90"]);
}

fn a_header_that_only_an_amd_device_includes_counts() {
    let scenario = Scenario::new("static_amd_headers");
    header_of_devices(
        &scenario,
        "scale.hip",
        "hip/hip_runtime.h",
        "__gfx1030__",
        ["gfx90a", "gfx1030"],
    );
}

/// Tests that a build notices a change of a header that only the device code includes. clang writes
/// a dependency file only for the host's part, where `macro_of_device` is not defined.
fn header_of_devices(
    scenario: &Scenario,
    file: &str,
    runtime: &str,
    macro_of_device: &str,
    archs: [&str; 2],
) {
    let object = archs.join(".");
    scenario
        .build_script(&format!(
            r#"Build::new().file("kernels/{file}").archs({archs:?}).compile_static("{}");"#,
            scenario.name()
        ))
        .write("kernels/device.h", FACTOR)
        .write(
            &format!("kernels/{file}"),
            format!(
                r#"#include <{runtime}>
#ifdef {macro_of_device}
#include "device.h"
#else
#define FACTOR 1
#endif
__global__ void scale(float *x) {{ *x *= FACTOR; }}
extern "C" void start(float *x) {{ scale<<<1, 1>>>(x); }}
"#
            ),
        );
    let build = || {
        let run = scenario.build();
        let run = if file.ends_with(".hip") { run.env("ROCM_PATH", rocm()) } else { run };
        run.passes();
        scenario.output_time("debug", &format!("{}/0_scale.{object}.o", scenario.name()))
    };
    let before = build();
    scenario.write("kernels/device.h", "#define FACTOR 7.5f\n");
    assert!(before != build(), "a header changed");
}

/// In the host code and device code of one source, clang uses the same unique name, which does not
/// depend on the folder of the build. Uses a release build, because debug information names
/// folders.
fn a_generated_source_makes_the_same_bytes_in_any_folder() {
    let mut scenario = Scenario::new("static_generated");
    scenario
        .build_script(
            r#"let source = std::path::Path::new(&std::env::var("OUT_DIR").unwrap()).join("scale.hip");
    std::fs::copy("kernels/scale.hip", &source).unwrap();
    Build::new().file(source).archs(["gfx90a"]).compile_static("scale_generated");"#,
        )
        .write(
            "kernels/scale.hip",
            r#"#include <hip/hip_runtime.h>
__global__ void scale(float *x) { *x *= 2.0f; }
extern "C" void start(float *x) { scale<<<1, 1>>>(x); }
"#,
        );
    let mut build = |folder: &str| {
        scenario.target = scratch::folder(folder);
        scenario.build().release().env("ROCM_PATH", rocm()).passes();
        read(scenario.output("release", "scale_generated/0_scale.gfx90a.o"))
    };
    let (one, other) =
        (build("static_generated_one"), build("static_generated_with_a_longer_name"));
    assert!(one == other, "the object differs with the folder that Cargo builds into");
}

/// Tests machines without compilers: the functions are declared, and nothing is linked.
fn nothing_is_compiled_when_skipped() {
    let scenario = Scenario::new("static_skipped");
    scenario
        .build_script(
            r#"let mut build = Build::new();
    build.file("kernels/scale.cu").archs(["sm_80"]).supports(["amd"]).allow_empty();
    let library = build.compile_static("a");
    assert!(library.path().is_none());
    println!("cargo::warning=skipped {}", library.is_skipped());"#,
        )
        .write(
            "src/lib.rs",
            "unsafe extern \"C\" {\n    pub fn cuda_devices(count: *mut i32) -> i32;\n}\n",
        );
    scenario.build().env("OFFLOAD_SKIP", "1").passes().has("skipped true");
    scenario.build().env("DOCS_RS", "1").passes().has("skipped true");
    // If the filter leaves no target, the library is missing, too, but it does not count as
    // skipped.
    scenario.write("kernels/scale.cu", "__global__ void scale() {}\n");
    scenario.build().passes().has("skipped false");
}

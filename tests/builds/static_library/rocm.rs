//! Sources that use ROCm's headers and device libraries. LLVM 22's `llvm-readelf` and the files'
//! modification times check the results.

use offload_tests::judges::assert_is_for;
use offload_tests::prelude::*;

const ROCM: Needs = needs(&[Tool::Rocm, Tool::Hip5, Tool::Gcc, Tool::Llvm22]);

/// Builds images with functions from ROCm's libraries. The images have the newest code object
/// version that the libraries support.
///
/// clang treats ROCm's headers as system headers, and does not list them in dependency files.
/// Instead of these headers, the build watches one file, `hip_version.h`.
#[test(ROCM.slow())]
fn images_have_functions_of_rocms_libraries_and_another_rocm_is_noticed() {
    let scenario = Scenario::new("static_rocm");
    scenario.pack("sine", r#".file("kernels/sine.hip").archs(["gfx90a", "gfx1030"])"#).write(
        "kernels/sine.hip",
        "#include <hip/hip_runtime.h>\n\
         extern \"C\" __global__ void sine(float *x) { *x = sinf(*x) * warpSize; }\n",
    );
    let root = scenario.folder.join("rocm");
    scenario.tool("cp").arg("-rs").arg(rocm()).arg(&root).passes();
    let version = root.join("include/hip/hip_version.h");
    let header = read(&version);
    let write = |more: &str| {
        // The file is a link to ROCm's own file. That file must not change, so remove the link
        // first.
        fs::remove_file(&version).expect("it is there");
        fs::write(&version, [&*header, more.as_bytes()].concat())
            .expect("the scratch folder can be written");
    };
    write("");
    let build = |archs: &str| {
        scenario.build().env("ROCM_PATH", &root).env("OFFLOAD_ARCH", archs).passes();
        scenario.output_time("debug", "sine/gfx90a.hsaco")
    };
    let first = build("");
    for target in ["gfx90a", "gfx1030"] {
        assert_is_for("sine", target, &scenario.output("debug", &format!("sine/{target}.hsaco")));
    }
    assert_eq!(build("gfx90a"), first);
    write("// Another version.\n");
    assert!(build("gfx90a") != first, "not compiled again with the headers of another ROCm");
}

/// clang adds the same unique name to a source's host code and device code. The name must not
/// depend on the build's folder. Uses a release build, because debug information contains folder
/// names.
#[test(ROCM.slow())]
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
    let build = |folder: &str| {
        scenario.target = scratch::folder(folder);
        scenario.build().release().env("ROCM_PATH", rocm()).passes();
        scenario.output_bytes("release", "scale_generated/0_scale.gfx90a.o")
    };
    let [one, other] = ["static_generated_one", "static_generated_with_a_longer_name"].map(build);
    assert!(one == other, "the object differs with the folder that Cargo builds into");
}

/// Each of these functions calls a function in ROCm's library `hip.bc`.
const BARRIERS: &str = r#"#include <hip/hip_runtime.h>
extern "C" __global__ void barriers(float *x) {
  __shared__ float s[64];
  s[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  x[threadIdx.x] = s[63 - threadIdx.x] + __shfl_down(x[0], 1);
  __threadfence();
  __threadfence_block();
  __threadfence_system();
}
"#;

#[test(ROCM.slow())]
fn barriers_of_old_headers_link_with_a_new_clang() {
    let scenario = Scenario::new("static_rocm_barriers");
    let start = "extern \"C\" void start(float *x) { barriers<<<1, 64>>>(x); }\n";
    scenario
        .build_script(
            r#"let mut build = Build::new();
    build.archs(["gfx90a", "gfx1030"]);
    build.clone().file("kernels/barriers.hip").compile("pack");
    build.file("kernels/start.hip");
    build.clone().compile_static("start");
    build.device_link().compile_static("linked");"#,
        )
        .write("kernels/barriers.hip", BARRIERS)
        .write("kernels/start.hip", format!("{BARRIERS}{start}"));
    scenario.build().env("ROCM_PATH", rocm()).passes().lacks("warning");
    for target in ["gfx90a", "gfx1030"] {
        assert_is_for("pack", target, &scenario.output("debug", &format!("pack/{target}.hsaco")));
    }
    // Some other functions in these old headers do not compile with the new clang.
    scenario
        .pack("half", r#".file("kernels/half.hip").archs(["gfx90a"])"#)
        .write("kernels/half.hip", "#include <hip/hip_runtime.h>\n#include <hip/hip_fp16.h>\n");
    let printed = scenario.build().env("ROCM_PATH", rocm()).fails();
    printed.once("install the clang that ROCm's hipcc starts (clang-15 with lld-15 on Debian 12)");
}

/// Debian's ROCm contains no clang. ROCm's headers need the version of clang that compiled ROCm's
/// libraries.
#[test(needs(&[Tool::Rocm, Tool::Gcc, Tool::Llvm22, Tool::Oldest]).slow())]
fn the_clang_is_that_of_the_libraries() {
    let half = "#include <hip/hip_fp16.h>\n\
                extern \"C\" __global__ void half_(__half *x) { *x = __hadd(*x, *x); }\n";
    let source = format!("{BARRIERS}{half}");
    let scenario = Scenario::of("static_rocm_clang", "half.hip", r#".arch("gfx90a")"#, source);
    let clang = offload_tests::tools::oldest("usr/lib/llvm-15/bin/clang");
    scenario.script("bin/clang-15", &format!("exec '{}' \"$@\"", clang.display()));
    let build = scenario.build().without(&["OFFLOAD_CLANG"]).env("ROCM_PATH", rocm());
    build.path([scenario.folder.join("bin"), llvm_bin()]).passes();
    assert_is_for("half", "gfx90a", &scenario.output("debug", "half/gfx90a.hsaco"));
}

//! The diffs in `docs/migrating.md`. The lines that the diffs do not remove form a program with a
//! pack, and a program with a static library. nvcc, `cuobjdump`, `nm` and the CUDA runtime without
//! a driver check the results.

use super::diffs;
use offload_tests::judges::{assert_is_for, cuda_images, cuobjdump_extracts, image_file_name};
use offload_tests::prelude::*;

/// Returns the manifest of the example `cuda-vector-add`, to which the page refers. The manifest
/// depends on cudarc.
fn manifest(name: &str) -> String {
    let scenario = Scenario::example("cuda-vector-add", name);
    scenario.text("Cargo.toml")
}

#[test(NVCC.slow())]
fn the_pack_is_built_and_loaded() {
    const NAME: &str = "migrating-pack";
    let [build_script, program, ..] = &diffs()[..] else { panic!("the page has diffs") };
    let manifest = manifest(NAME);
    let scenario = Scenario::empty(NAME);
    // The program's parts: the imports and the pack, then a function's body.
    let (items, body) = program.split_once("// Once").expect("the program has a device");
    let source = |name: &str| {
        format!("extern \"C\" __global__ void {name}(int n, float a, float *x) {{ x[n] *= a; }}")
    };
    scenario
        .write("Cargo.toml", manifest)
        .write("build.rs", build_script)
        .write("src/affine.cu", source("affine"))
        .write("src/reduce.cu", source("reduce"))
        .write(
            "src/main.rs",
            format!(
                "{items}\n\
                 use cudarc::driver::{{CudaContext, CudaSlice}};\n\
                 fn launch(context: &std::sync::Arc<CudaContext>, mut x: CudaSlice<f32>, n: i32, a: f32, grid: u32, block: u32)\n    \
                   -> Result<(), Box<dyn std::error::Error>> {{\n\
                 let stream = context.default_stream();\n\
                 // Once{body}\n    Ok(())\n}}\n\n\
                 fn main() {{\n    \
                   if let Err(error) = Device::named(\"cuda:0\") {{\n        \
                     let modules: Vec<&str> = kernels::PACK.modules().map(|module| module.name()).collect();\n        \
                     return println!(\"{{modules:?}}: {{error}}\");\n    }}\n    \
                   let context = CudaContext::new(0).expect(\"there is a GPU\");\n    \
                   let x = context.default_stream().alloc_zeros(2).expect(\"there is memory\");\n    \
                   launch(&context, x, 1, 2.0, 1, 1).expect(\"the kernel is launched\");\n    println!(\"launched\");\n}}\n"
            ),
        );
    scenario.build().passes();
    for module in ["affine", "reduce"] {
        for target in ["sm_80", "sm_90", "compute_90"] {
            let image =
                scenario.output("debug", &format!("kernels/{module}.{}", image_file_name(target)));
            assert_is_for(module, target, &image);
        }
    }
    if !Path::new("/dev/nvidiactl").exists() {
        scenario
            .start("debug")
            .passes()
            .has(r#"["affine", "reduce"]: could not use the device "cuda:0": no CUDA driver: "#);
    }
}

/// Tests the library's two functions. Their launches must use the default stream of the launching
/// thread.
#[test(NVCC.slow())]
fn the_library_launches_on_the_stream_of_the_thread() {
    let build_script = diffs().pop().expect("the page has diffs");
    let scenario = Scenario::without_sources("migrating_library");
    let source = |name: &str| {
        format!(
            "#include \"cutlass.h\"\n#ifndef USE_CUTLASS\n#error USE_CUTLASS is not defined\n#endif\n\
             __global__ void {name}(float *x) {{ *x = BY; }}\n\
             extern \"C\" int launch_{name}(float *x) {{\n  {name}<<<1, 1>>>(x);\n  return cudaGetLastError();\n}}\n"
        )
    };
    scenario
        .write("build.rs", &build_script)
        .write("cutlass/include/cutlass.h", "#define BY 2.0f\n")
        .write("src/scale.cu", source("scale"))
        .write("src/vector_add.cu", source("vector_add"))
        .write(
            "src/main.rs",
            r#"use std::ffi::c_int;

unsafe extern "C" {
    fn launch_scale(x: *mut f32) -> c_int;
    fn launch_vector_add(x: *mut f32) -> c_int;
}

fn main() {
    let x = std::ptr::null_mut();
    // SAFETY: a launch does not follow the pointer, and nothing waits for the kernel.
    println!("{} {}", unsafe { launch_scale(x) }, unsafe { launch_vector_add(x) });
}
"#,
        );
    scenario.build().passes();
    if !Path::new("/dev/nvidiactl").exists() {
        scenario.start("debug").passes().has("35 35");
    }
    let images = cuda_images(&scenario.program("debug", scenario.name()));
    assert_eq!(images, ["sm_80.cubin"; 2]);

    let names_thread_streams = || {
        let library = scenario.output("debug", "libkernels.a");
        let symbols = stdout(&succeed(Command::new("nm").arg("--undefined-only").arg(library)));
        let names = |end: &str| symbols.lines().any(|line| line.ends_with(end));
        let calls = [names(" __cudaLaunchKernel_ptsz"), names(" __cudaLaunchKernel")];
        assert!(calls[0] != calls[1], "{symbols}");
        calls[0]
    };
    // `cuobjdump_extracts` needs a folder without other files.
    let extracted = scratch::folder("migrating_library_extracted");
    let device_code = || cuobjdump_extracts(&scenario.output("debug", "libkernels.a"), &extracted);
    assert!(names_thread_streams(), "with the flag");
    let before = device_code();
    assert_eq!(before.len(), 2);
    let line = "        .flag(\"--default-stream=per-thread\")\n";
    assert!(build_script.contains(line), "the page has the flag:\n{build_script}");
    scenario.write("build.rs", build_script.replace(line, "")).build().passes();
    assert!(!names_thread_streams(), "without the flag");
    assert!(device_code() == before, "the flag changes device code, too");
}

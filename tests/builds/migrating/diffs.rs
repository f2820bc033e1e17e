//! The diffs: what is left of them is a pack in a program, and a static library in another. The judges are nvcc,
//! `cuobjdump`, `nm` and the CUDA runtime without a driver.

use super::page::diffs;
use offload_tests::judges::{assert_is_for, cuobjdump_extracts, image_file_name};
use offload_tests::registry::NVCC;
use offload_tests::scenario::{Scenario, kernel};
use offload_tests::scratch;
use offload_tests::tools::{cuda, stdout, succeed};
use std::path::Path;
use std::process::Command;

offload_tests::tests! {
    NVCC.slow() => [the_pack_is_built_and_loaded, the_library_launches_on_the_stream_of_the_thread],
}

/// The manifest of the example whose `modules.rs` the page names, which has cudarc as the page asks for it.
fn manifest(name: &str) -> String {
    let scenario = Scenario::example("cuda-vector-add", name);
    scenario.text("Cargo.toml")
}

fn the_pack_is_built_and_loaded() {
    const NAME: &str = "migrating-pack";
    let [build_script, program, ..] = &diffs()[..] else { panic!("the page has diffs") };
    let manifest = manifest(NAME);
    let scenario = Scenario::empty(NAME);
    // The program's lines: the imports and the pack, then what a function has.
    let (items, body) = program.split_once("let device").expect("the program selects an image");
    scenario
        .write("Cargo.toml", manifest)
        .write("build.rs", build_script)
        .write("src/affine.cu", kernel("affine", "1.0f"))
        .write("src/reduce.cu", kernel("reduce", "2.0f"))
        .write(
            "src/main.rs",
            format!(
                "{items}\n\
                 fn load(context: &std::sync::Arc<cudarc::driver::CudaContext>, major: u32, minor: u32, driver_version: u32)\n    \
                   -> Result<(), Box<dyn std::error::Error>> {{\n\
                 let device{body}\n    module.load_function(\"affine\")?;\n    Ok(())\n}}\n\n\
                 fn main() {{\n    \
                   // SAFETY: it loads NVIDIA's driver library, which programs may do at any time.\n    \
                   if !unsafe {{ cudarc::driver::sys::is_culib_present() }} {{\n        \
                     let modules: Vec<&str> = KERNELS.modules().map(|module| module.name()).collect();\n        \
                     return println!(\"no driver for {{modules:?}}\");\n    }}\n    \
                   let context = cudarc::driver::CudaContext::new(0).expect(\"there is a GPU\");\n    \
                   load(&context, 9, 0, 13000).expect(\"the module is loaded\");\n    println!(\"loaded\");\n}}\n"
            ),
        );
    scenario.build().passes();
    for module in ["affine", "reduce"] {
        for target in ["sm_80", "sm_90", "compute_90"] {
            let image = scenario.output("debug", &format!("kernels/{module}.{}", image_file_name(target)));
            assert_is_for(module, target, &image);
        }
    }
    if !Path::new("/dev/nvidiactl").exists() {
        scenario.start("debug").passes().has(r#"no driver for ["affine", "reduce"]"#);
    }
}

/// The two functions, and whether launches name the stream of the thread that launches.
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
    // SAFETY: a launch does not follow the pointer, and nobody waits for the kernel.
    println!("{} {}", unsafe { launch_scale(x) }, unsafe { launch_vector_add(x) });
}
"#,
        );
    scenario.build().passes();
    if !Path::new("/dev/nvidiactl").exists() {
        scenario.start("debug").passes().has("35 35");
    }
    let listed = stdout(&succeed(cuda("cuobjdump").arg("-lelf").arg(scenario.program("debug", scenario.name()))));
    assert_eq!(listed.matches("sm_80.cubin").count(), 2, "{listed}");

    let names_thread_streams = || {
        let library = scenario.output("debug", "libkernels.a");
        let symbols = stdout(&succeed(Command::new("nm").arg("--undefined-only").arg(library)));
        let names = |end: &str| symbols.lines().any(|line| line.ends_with(end));
        let calls = [names(" __cudaLaunchKernel_ptsz"), names(" __cudaLaunchKernel")];
        assert!(calls[0] != calls[1], "{symbols}");
        calls[0]
    };
    // The reader wants a folder without other files.
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

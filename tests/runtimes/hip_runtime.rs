//! Tests AMD's real HIP runtime, version 5, with images that the runtime loads itself. Below the
//! runtime, a stand-in simulates a GPU, but runs no kernels.
//!
//! Version 5.2 supports GPUs up to gfx90a and gfx1030, and accepts only version 4 code objects.

use offload_tests::prelude::*;
use offload_tests::stand_ins::{Outcome, Staged, hsa};

/// A folder with the stand-in and the runtime.
static LIBRARIES: LazyLock<PathBuf> = LazyLock::new(|| hsa::libraries("hsa-runtime"));

fn run(program: &Path, gpu: &str, args: &[&str]) -> Outcome {
    let name = program.file_name().expect("a program has a name").to_string_lossy();
    let log = format!("{name} {gpu} {}.log", args.join(" "));
    let staged = Staged::new(program, &LIBRARIES).with("FAKE_GPU", gpu);
    staged.with("CUDA_VISIBLE_DEVICES", "").run(args, &LIBRARIES.join(log))
}

/// A program that uses `register` contains no code that loads images. The runtime itself must find
/// the kernels of a pack with two modules, and of a file with bundles.
#[test(needs(&[Tool::Llvm22, Tool::Hip5, Tool::Gcc]).slow())]
fn registered_kernels_are_loaded_by_the_runtime_itself() {
    let mut scenario = Scenario::without_sources("registered");
    // The pack's file contains a bundle for each module.
    scenario.feature("offload-gpu", "files");
    // The linker must also find the libraries that the HIP runtime needs. One of them is the
    // stand-in, which is in the runtime's folder.
    let build_script = r#"println!("cargo::rustc-link-search=native=RUNTIME");
    println!("cargo::rustc-link-arg-bins=-Wl,-rpath-link,RUNTIME");
    let pack = Build::new()
        .modules(["kernels/one.hip", "kernels/two.hip"])
        .archs(["gfx90a", "gfx1030"])
        // Without optimization a kernel asks the host for a service that the stand-in lacks.
        .opt_level(2)
        .code_object_version(4)
        .compile("pack");
    std::fs::copy(pack.path().unwrap(), "pack.hipfb").unwrap();"#;
    let kernel = |name, change| {
        format!(
            "extern \"C\" __global__ void {name}(float *y) {{ y[threadIdx.x] {change} 1.0f; }}\n"
        )
    };
    scenario
        .build_script(&build_script.replace("RUNTIME", &LIBRARIES.display().to_string()))
        .write("kernels/one.hip", kernel("add", "+="))
        .write("kernels/two.hip", kernel("sub", "-="));
    for (name, argument) in [
        ("registered_pack", "\"pack\", register"),
        ("registered_file", "path = \"$CARGO_MANIFEST_DIR/pack.hipfb\", register"),
    ] {
        scenario.write(&format!("src/bin/{name}.rs"), REGISTERED.replace("ARGUMENT", argument));
        scenario.build().args(["--bin", name]).passes();
        let program = scenario.program("debug", name);
        for gpu in ["gfx90a:sramecc+:xnack-", "gfx1030"] {
            let outcome = run(&program, gpu, &[]);
            let printed = (outcome.status, &*outcome.stdout);
            assert_eq!(printed, (Some(0), "add 0\nsub 0\n"), "{outcome:#?}");
            outcome.logs_line("symbol: add.kd").logs_line("symbol: sub.kd");
        }
        // No image fits gfx906.
        run(&program, "gfx906:sramecc+:xnack-", &[]).complains("hipErrorNoBinaryForGpu");
        // Without a GPU, the program must still start. With an argument, it launches no kernel.
        let outcome = run(&program, "", &["none"]);
        assert_eq!((outcome.status, &*outcome.stdout), (Some(0), ""), "{outcome:#?}");
    }
}

/// A program that launches both kernels, unless it is started with an argument.
const REGISTERED: &str = r#"
use offload_gpu::KernelPack;
use std::ffi::{c_int, c_void};
use std::ptr;

mod pack {
    #![forbid(unsafe_code)]
    pub static PACK: super::KernelPack = offload_gpu::include_offload!(ARGUMENT);
}

#[repr(C)]
struct Dim3(u32, u32, u32);
unsafe extern "C" {
    fn hipLaunchKernel(f: *const c_void, grid: Dim3, block: Dim3, args: *mut *mut c_void, shared: usize, stream: *mut c_void) -> c_int;
}

fn main() {
    if std::env::args().len() > 1 {
        return;
    }
    let launch = |kernel: offload_gpu::Kernel| {
        let mut y = 0usize;
        let mut args = [(&raw mut y).cast::<c_void>()];
        let function = kernel.host_function().expect("it is registered");
        let (grid, block) = (Dim3(1, 1, 1), Dim3(32, 1, 1));
        // SAFETY: the function is registered with the runtime, and the kernel has one argument, a
        // pointer.
        let error = unsafe { hipLaunchKernel(function, grid, block, args.as_mut_ptr(), 0, ptr::null_mut()) };
        println!("{} {error}", kernel.name());
    };
    launch(pack::PACK.kernel("add"));
    launch(pack::PACK.kernel("sub"));
}
"#;

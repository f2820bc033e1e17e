//! AMD's real HIP runtime, version 5, with our images. Below the runtime, a stand-in pretends that
//! there is a GPU, so everything works except the kernel, which does not run. The runtime starts,
//! selects, checks and loads code objects, and queues a launch.
//!
//! Version 5.2 knows GPUs up to gfx90a and gfx1030, and accepts only code objects of version 4.

use crate::saxpy::{PREBUILT, prebuilt};
use offload_tests::prelude::*;
use offload_tests::stand_ins::{Outcome, Staged, described, hsa};

const NEEDS: Needs = needs(&[Tool::Llvm22, Tool::Hip5, Tool::Gcc]);

/// A build of the example for AMD's runtime of version 5.
struct Example {
    scenario: Scenario,
    program: PathBuf,
}

impl Example {
    fn build(name: &str, targets: &str) -> Self {
        let scenario = Scenario::copy_of("examples/saxpy", name);
        let script = scenario.text("build.rs");
        let version_4 = script.replace(".compile(", ".code_object_version(4).compile(");
        assert_ne!(version_4, script);
        scenario.write("build.rs", version_4);
        let build = scenario.build().release().env("OFFLOAD_ARCH", targets);
        build.env("OFFLOAD_PREBUILT", "never").passes();
        Self { program: scenario.program("release", name), scenario }
    }

    /// Returns the lines that the stand-in writes when a target's image is loaded and its kernel is
    /// looked up.
    fn loading(&self, target: &str) -> [String; 3] {
        let file = format!("saxpy/{}.hsaco", target.replace(':', "_"));
        let image = described(&self.scenario.output_bytes("release", &file));
        [&*format!("code object: {image}"), "loaded on the GPU", "symbol: saxpy.kd"]
            .map(str::to_owned)
    }
}

/// The build with offload binaries in .llvm.offloading.
static MIXED: LazyLock<Example> =
    LazyLock::new(|| Example::build("saxpy-hip-mixed", "gfx90a gfx1030 cpu"));
/// The build with a bundle in .hip_fatbin.
static BUNDLE: LazyLock<Example> = LazyLock::new(|| {
    Example::build("saxpy-hip-bundle", "gfx90a gfx906:xnack- gfx908:sramecc+:xnack+ gfx1030")
});
/// A folder with the stand-in and the runtime.
static LIBRARIES: LazyLock<PathBuf> = LazyLock::new(|| hsa::libraries("hsa-runtime"));

fn run(program: &Path, gpu: &str, args: &[&str]) -> Outcome {
    let name = program.file_name().expect("a program has a name").to_string_lossy();
    let log = format!("{name} {gpu} {}.log", args.join(" "));
    let staged = Staged::new(program, &LIBRARIES).with("FAKE_GPU", gpu);
    staged.with("CUDA_VISIBLE_DEVICES", "").run(args, &LIBRARIES.join(log))
}

#[test(NEEDS.slow())]
fn the_runtime_gets_the_selected_image_of_a_mixed_pack() {
    assert_reaches_the_gpu(&MIXED, ".llvm.offloading", "gfx90a:sramecc+:xnack-", "gfx90a");
    assert_reaches_the_gpu(&MIXED, ".llvm.offloading", "gfx1030", "gfx1030");
}

#[test(NEEDS.slow())]
fn the_runtime_gets_the_selected_image_of_a_bundle() {
    assert_reaches_the_gpu(&BUNDLE, ".hip_fatbin", "gfx90a:sramecc-:xnack+", "gfx90a");
    assert_reaches_the_gpu(&BUNDLE, ".hip_fatbin", "gfx906:sramecc-:xnack-", "gfx906:xnack-");
    for gpu in ["gfx908:sramecc+:xnack+", "gfx1030"] {
        assert_reaches_the_gpu(&BUNDLE, ".hip_fatbin", gpu, gpu);
    }
}

/// Asserts that the program finds the GPU, gives the runtime the image for `target` and launches
/// the kernel. No kernel runs, so the program finds a wrong result.
fn assert_reaches_the_gpu(example: &Example, section: &str, gpu: &str, target: &str) {
    let outcome = run(&example.program, gpu, &[]);
    outcome.prints(&format!("are in this program, in section {section}:\n"));
    let row = format!("hip:0 Fake AMD GPU {gpu} {target} code object made for this processor");
    let squeezed = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let is_there = outcome.stdout.lines().any(|line| squeezed(line).starts_with(&row));
    assert!(is_there, "{row}: {outcome:#?}");

    assert_eq!(outcome.log.get(..3), Some(&example.loading(target)[..]), "{gpu}: {outcome:#?}");
    // The runtime's own kernels follow, which copy memory.
    let mut others = outcome.log[3..].iter().filter_map(|line| line.strip_prefix("symbol: "));
    assert!(others.all(|symbol| symbol.starts_with("__amd_rocclr_")), "{outcome:#?}");

    outcome
        .fails_with("error: wrong result: 1048576 of 1048576 elements; the first is y[0]: expected 3, found 0\n")
        .does_not_print("are right");
}

/// A GPU for which neither build of the example has an image.
const UNFITTING: &str = "gfx906:sramecc+:xnack+";

/// The last line of a run on the CPU.
const RAN_ON_CPU: &str = "Ran the cpu shared object on cpu: all 1048576 elements are right.\n";

#[test(NEEDS.slow())]
fn without_a_fitting_image_the_cpu_runs() {
    run(&MIXED.program, UNFITTING, &[])
        .succeeds()
        .prints("none fits; --device hip:0 tells why")
        .prints_last(RAN_ON_CPU)
        .loads_nothing();

    let error = "\
error: no image for gfx906:sramecc+:xnack+
  gfx90a   code for another processor
  gfx1030  code for another processor
  cpu      code for a CPU
to run on this device, add \"gfx906\" to the targets of build.rs
";
    run(&MIXED.program, UNFITTING, &["--device", "hip:0"]).fails_with(error).loads_nothing();
}

#[test(NEEDS.slow())]
fn without_any_image_there_is_an_error() {
    let error = "\
error: no image for gfx906:sramecc+:xnack+
  gfx90a                  code for another processor
  gfx906:xnack-           needs xnack-, the device has xnack+
  gfx908:sramecc+:xnack+  code for another processor
  gfx1030                 code for another processor
to run on this device, add ";
    run(&BUNDLE.program, UNFITTING, &["--device", "hip:0"]).fails_first_with(error).loads_nothing();

    // Without --device the program prints for each device why nothing fits.
    run(&BUNDLE.program, UNFITTING, &[])
        .fails_first_with("error: could not find a device for the pack \"saxpy\": no image fits\nno image for gfx906:sramecc+:xnack+\n")
        .complains("\nno image for the CPU\n  gfx90a ")
        .loads_nothing();
}

/// Asserts that the program prints the error if the HIP runtime refuses the image. Code objects of
/// version 6, the compiler's default, are too new for the runtime of version 5.
#[test(needs(&[Tool::Hip5, Tool::Gcc]).slow())]
fn what_the_runtime_refuses_is_told() {
    let size = prebuilt("gfx90a.hsaco").len();
    let error = format!(
        "error: hip:0 (Fake AMD GPU): could not load the gfx90a code object ({size} bytes): \
         hipModuleLoadData returned hipErrorSharedObjectInitFailed (303)\n\
         The runtime may be too old for this compiler's images: update ROCm.\n"
    );
    run(&PREBUILT.program(), "gfx90a:sramecc+:xnack-", &[]).fails_with(&error).loads_nothing();
}

#[test(needs(&[Tool::Hip5, Tool::Gcc]))]
fn without_a_gpu_the_runtime_is_no_error() {
    run(&PREBUILT.program(), "", &[])
        .succeeds()
        .prints("  the HIP runtime, libamdhip64.so, finds no GPU\n")
        .prints_last(RAN_ON_CPU);
}

/// With `register`, a program contains no code that loads images. The runtime itself finds the
/// kernels of a pack of two modules, and those of a file with bundles.
#[test(NEEDS.slow())]
fn registered_kernels_are_loaded_by_the_runtime_itself() {
    let mut scenario = Scenario::without_sources("registered");
    // The file contains a bundle for each module.
    scenario.feature("offload-gpu", "files");
    // The linker also searches for the libraries that the HIP runtime needs. The stand-in for one
    // of them is in the runtime's folder.
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
        // None of the images fits gfx906.
        run(&program, "gfx906:sramecc+:xnack-", &[]).complains("hipErrorNoBinaryForGpu");
        // Without a GPU the program still starts. With an argument it launches no kernel.
        let outcome = run(&program, "", &["none"]);
        assert_eq!((outcome.status, &*outcome.stdout), (Some(0), ""), "{outcome:#?}");
    }
}

/// A program that launches both kernels, unless it gets an argument.
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
        // SAFETY: the runtime knows the function, and the kernel has one argument, a pointer.
        let error = unsafe { hipLaunchKernel(function, grid, block, args.as_mut_ptr(), 0, ptr::null_mut()) };
        println!("{} {error}", kernel.name());
    };
    launch(pack::PACK.kernel("add"));
    launch(pack::PACK.kernel("sub"));
}
"#;

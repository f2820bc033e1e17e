//! AMD's real HIP runtime, version 5, with our images. A stand-in below it pretends that there is a GPU, so everything
//! happens but the kernel: the runtime starts, picks, checks and loads code objects, and queues a launch.
//!
//! Version 5.2 knows GPUs up to gfx90a and gfx1030, and takes code objects of version 4 only.

#[path = "stand_ins/hsa.rs"]
mod hsa;
mod stand_ins;

use hsa::RUNTIME;
use offload_tests::package::Package;
use offload_tests::tools::{Tool, llvm_bin, succeed};
use offload_tests::{scratch, test};
use stand_ins::{Outcome, Staged, compile, described, release};
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::LazyLock;

fn main() -> ExitCode {
    const NEEDS: &[Tool] = &[Tool::Llvm22, Tool::Hip5, Tool::Gcc];
    offload_tests::run(vec![
        test("the_runtime_gets_the_selected_image_of_a_mixed_pack", NEEDS, mixed_pack),
        test("the_runtime_gets_the_selected_image_of_a_bundle", NEEDS, bundle),
        test("without_a_fitting_image_the_cpu_runs", NEEDS, without_a_fitting_image_the_cpu_runs),
        test("without_any_image_there_is_an_error", NEEDS, without_any_image_there_is_an_error),
        test("given_the_whole_bundle_the_runtime_chooses_as_we_do", NEEDS, the_runtime_chooses_as_we_do),
        test("what_the_runtime_refuses_is_told", &[Tool::Hip5, Tool::Gcc], what_the_runtime_refuses_is_told),
        test("registered_kernels_are_loaded_by_the_runtime_itself", NEEDS, registered),
        test("without_a_gpu_the_runtime_is_no_error", &[Tool::Hip5, Tool::Gcc], without_a_gpu),
    ])
}

/// A build of the example for AMD's runtime of version 5.
struct Example {
    program: PathBuf,
    package: Package,
    name: &'static str,
}

impl Example {
    fn build(name: &'static str, targets: &str) -> Self {
        let package = Package::copy_of("examples/saxpy", name);
        let script = fs::read_to_string(package.folder.join("build.rs")).expect("the example has a build script");
        let version_4 = script.replace(".compile(", ".code_object_version(4).compile(");
        assert_ne!(version_4, script);
        package.write("build.rs", version_4);
        let clang = llvm_bin().join("clang");
        let variables = [("OFFLOAD_ARCH", OsStr::new(targets)), ("OFFLOAD_CLANG", clang.as_os_str()), never_prebuilt()];
        Self { program: release(&package, name, &variables), package, name }
    }

    /// What the stand-in writes down when a target's image is loaded and its kernel is looked up.
    fn loading(&self, target: &str) -> [String; 3] {
        let file = format!("saxpy/{}.hsaco", target.replace(':', "_"));
        let image = fs::read(self.package.output("release", self.name, &file)).expect("the image can be read");
        [format!("code object: {}", described(&image)), "loaded on the GPU".to_owned(), "symbol: saxpy.kd".to_owned()]
    }
}

fn never_prebuilt() -> (&'static str, &'static OsStr) {
    ("OFFLOAD_PREBUILT", OsStr::new("never"))
}

/// Offload binaries in .llvm.offloading.
static MIXED: LazyLock<Example> = LazyLock::new(|| Example::build("saxpy-hip-mixed", "gfx90a gfx1030 cpu"));
/// A bundle in .hip_fatbin.
static BUNDLE: LazyLock<Example> =
    LazyLock::new(|| Example::build("saxpy-hip-bundle", "gfx90a gfx906:xnack- gfx908:sramecc+:xnack+ gfx1030"));
/// As it is in the repository, with the images that come with it.
static UNCHANGED: LazyLock<PathBuf> = LazyLock::new(|| {
    let name = "saxpy-hip-unchanged";
    release(&Package::copy_of("examples/saxpy", name), name, &[("OFFLOAD_PREBUILT", OsStr::new("only"))])
});

/// A folder with the stand-in and the runtime.
static LIBRARIES: LazyLock<PathBuf> = LazyLock::new(|| hsa::libraries("hsa-runtime"));

fn on_gpu(program: &Path, gpu: &str) -> Staged {
    Staged::new(program, &LIBRARIES).with("FAKE_GPU", gpu).with("CUDA_VISIBLE_DEVICES", "")
}

fn run(program: &Path, gpu: &str, args: &[&str]) -> Outcome {
    let name = program.file_name().expect("a program has a name").to_string_lossy();
    let log = format!("{name} {gpu} {}.log", args.join(" "));
    on_gpu(program, gpu).run(args, &LIBRARIES.join(log))
}

fn mixed_pack() {
    assert_reaches_the_gpu(&MIXED, ".llvm.offloading", "gfx90a:sramecc+:xnack-", "gfx90a");
    assert_reaches_the_gpu(&MIXED, ".llvm.offloading", "gfx1030", "gfx1030");
}

fn bundle() {
    assert_reaches_the_gpu(&BUNDLE, ".hip_fatbin", "gfx90a:sramecc-:xnack+", "gfx90a");
    assert_reaches_the_gpu(&BUNDLE, ".hip_fatbin", "gfx906:sramecc-:xnack-", "gfx906:xnack-");
    assert_reaches_the_gpu(&BUNDLE, ".hip_fatbin", "gfx908:sramecc+:xnack+", "gfx908:sramecc+:xnack+");
    assert_reaches_the_gpu(&BUNDLE, ".hip_fatbin", "gfx1030", "gfx1030");
}

/// The program finds the GPU, gives the runtime the image for `target` and launches. Nothing computes, and that is what
/// the program finds too.
fn assert_reaches_the_gpu(example: &Example, section: &str, gpu: &str, target: &str) {
    let outcome = run(&example.program, gpu, &[]);
    assert!(outcome.stdout.contains(&format!("are in this program, in section {section}:\n")), "{outcome:#?}");
    let row = format!("hip:0 Fake AMD GPU {gpu} {target} code object made for this processor");
    let squeezed = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(outcome.stdout.lines().any(|line| squeezed(line).starts_with(&row)), "{row}: {outcome:#?}");

    assert_eq!(outcome.log.get(..3), Some(&example.loading(target)[..]), "{gpu}: {outcome:#?}");
    // What follows are the runtime's own kernels, which copy memory.
    let others = outcome.log[3..].iter().filter_map(|line| line.strip_prefix("symbol: "));
    for symbol in others {
        assert!(symbol.starts_with("__amd_rocclr_"), "{symbol}: {outcome:#?}");
    }

    assert_eq!(outcome.status, Some(1), "{gpu}: {outcome:#?}");
    let error = "error: wrong result: 1048576 of 1048576 elements; the first is y[0]: expected 3, found 0\n";
    assert_eq!(outcome.stderr, error, "{gpu}");
    assert!(!outcome.stdout.contains("are right"), "{outcome:#?}");
}

const UNFITTING: &str = "gfx906:sramecc+:xnack+";

fn without_a_fitting_image_the_cpu_runs() {
    let outcome = run(&MIXED.program, UNFITTING, &[]);
    assert_eq!((outcome.status, &*outcome.stderr), (Some(0), ""), "{outcome:#?}");
    assert!(outcome.stdout.contains("none fits; --device hip:0 tells why"), "{outcome:#?}");
    assert!(outcome.stdout.ends_with("Ran the cpu shared object on cpu: all 1048576 elements are right.\n"));
    assert!(outcome.log.is_empty(), "{outcome:#?}");

    let outcome = run(&MIXED.program, UNFITTING, &["--device", "hip:0"]);
    let error = "\
error: no image for gfx906:sramecc+:xnack+
  gfx90a   code for another processor
  gfx1030  code for another processor
  cpu      code for a CPU
to run on this device, add \"gfx906\" to the targets of build.rs
";
    assert_eq!((outcome.status, &*outcome.stderr), (Some(1), error), "{outcome:#?}");
    assert!(outcome.log.is_empty(), "{outcome:#?}");
}

fn without_any_image_there_is_an_error() {
    let gpu = "\
no image for gfx906:sramecc+:xnack+
  gfx90a                  code for another processor
  gfx906:xnack-           needs xnack-, the device has xnack+
  gfx908:sramecc+:xnack+  code for another processor
  gfx1030                 code for another processor
to run on this device, add ";
    let outcome = run(&BUNDLE.program, UNFITTING, &["--device", "hip:0"]);
    assert_eq!(outcome.status, Some(1), "{outcome:#?}");
    assert!(outcome.stderr.starts_with(&format!("error: {gpu}")), "{outcome:#?}");
    assert!(outcome.log.is_empty(), "{outcome:#?}");

    // Without a wish it says of each device why nothing fits.
    let outcome = run(&BUNDLE.program, UNFITTING, &[]);
    assert_eq!(outcome.status, Some(1), "{outcome:#?}");
    assert!(outcome.stderr.starts_with(&format!("error: {gpu}")), "{outcome:#?}");
    assert!(outcome.stderr.contains("\nno image for the CPU\n  gfx90a "), "{outcome:#?}");
    assert!(outcome.log.is_empty(), "{outcome:#?}");
}

/// The section of the finished program goes to AMD's runtime whole, which searches it by its own rules; the program
/// itself tells what `select` says.
fn the_runtime_chooses_as_we_do() {
    let load = LIBRARIES.join("hip_load");
    compile("hip_load.c", &["-ldl"], &load);
    let bundle = LIBRARIES.join("bundle");
    let dump = format!(".hip_fatbin={}", bundle.display());
    succeed(Command::new("objcopy").args(["--dump-section", &dump]).arg(&BUNDLE.program).arg(LIBRARIES.join("rest")));
    let args = [RUNTIME, bundle.to_str().expect("the target folder's name is UTF-8"), "saxpy"];
    for (gpu, target) in [
        ("gfx90a:sramecc+:xnack-", Some("gfx90a")),
        ("gfx90a:sramecc-:xnack-", Some("gfx90a")),
        ("gfx90a:sramecc+:xnack+", Some("gfx90a")),
        ("gfx906:sramecc+:xnack-", Some("gfx906:xnack-")),
        ("gfx906:sramecc-:xnack-", Some("gfx906:xnack-")),
        ("gfx906:sramecc+:xnack+", None),
        ("gfx908:sramecc+:xnack+", Some("gfx908:sramecc+:xnack+")),
        ("gfx908:sramecc-:xnack+", None),
        ("gfx908:sramecc+:xnack-", None),
        ("gfx1030", Some("gfx1030")),
        ("gfx900:xnack-", None),
        ("gfx1031", None),
    ] {
        let log = LIBRARIES.join(format!("hip_load {gpu}.log"));
        let theirs = on_gpu(&load, gpu).run(&args, &log);
        let ours = run(&BUNDLE.program, gpu, &["--explain", gpu]);
        match target {
            Some(target) => {
                assert_eq!(theirs.status, Some(0), "{gpu}: {theirs:#?}");
                assert_eq!(theirs.log, BUNDLE.loading(target), "{gpu}");
                assert_eq!(ours.status, Some(0), "{gpu}: {ours:#?}");
                assert!(ours.stdout.starts_with(&format!("{gpu} gets the {target} code object (")), "{ours:#?}");
            }
            None => {
                // It ends the process.
                assert_eq!(theirs.status, None, "{gpu}: {theirs:#?}");
                assert!(theirs.stderr.contains("hipErrorNoBinaryForGpu"), "{gpu}: {theirs:#?}");
                assert!(theirs.log.is_empty(), "{gpu}: {theirs:#?}");
                assert_eq!(ours.status, Some(1), "{gpu}: {ours:#?}");
                assert!(ours.stderr.starts_with(&format!("error: no image for {gpu}\n")), "{ours:#?}");
            }
        }
    }
}

/// Code objects of version 6, the compiler's default, are too new for this runtime.
fn what_the_runtime_refuses_is_told() {
    let image = fs::metadata(scratch::workspace().join("examples/saxpy/prebuilt/saxpy.gfx90a.hsaco"));
    let size = image.expect("the image comes with the example").len();
    let outcome = run(&UNCHANGED, "gfx90a:sramecc+:xnack-", &[]);
    let error = format!(
        "error: hip:0: could not load the gfx90a code object ({size} bytes): \
         hipModuleLoadData returned hipErrorSharedObjectInitFailed (303)\n\
         The runtime may be too old for this compiler's images: update ROCm.\n"
    );
    assert_eq!((outcome.status, outcome.stderr), (Some(1), error));
    assert!(outcome.log.is_empty(), "{:?}", outcome.log);
}

fn without_a_gpu() {
    let outcome = run(&UNCHANGED, "", &[]);
    assert_eq!((outcome.status, &*outcome.stderr), (Some(0), ""), "{outcome:#?}");
    let note = "  no AMD GPU (the HIP runtime, libamdhip64.so, finds none)\n";
    assert!(outcome.stdout.contains(note), "{outcome:#?}");
    assert!(outcome.stdout.ends_with("Ran the cpu shared object on cpu: all 1048576 elements are right.\n"));
}

/// With `register` a program needs no loader: it starts, and kernels are launched by what stands for them. Two modules of a
/// pack of the build script, and a bundle in a file.
fn registered() {
    let package = Package::new("registered");
    // The file has a bundle for each module.
    package.feature("offload-embed-macro", "containers");
    let runtime = LIBRARIES.display();
    package
        .write(
            "build.rs",
            format!(
                "fn main() {{\n    println!(\"cargo::rustc-link-search=native={runtime}\");\n    \
                 let pack = offload_build::Build::new()\n        .modules([\"kernels/one.hip\", \"kernels/two.hip\"])\n        \
                 .archs([\"gfx90a\", \"gfx1030\"])\n        .code_object_version(4)\n        .compile(\"pack\");\n    \
                 std::fs::copy(pack.path().unwrap(), \"pack.hipfb\").unwrap();\n}}\n"
            ),
        )
        .write("kernels/one.hip", "extern \"C\" __global__ void add(float *y) { y[threadIdx.x] += 1.0f; }\n")
        .write("kernels/two.hip", "extern \"C\" __global__ void sub(float *y) { y[threadIdx.x] -= 1.0f; }\n");
    let arguments = [("pack", "\"pack\", register"), ("file", "path = \"$CARGO_MANIFEST_DIR/pack.hipfb\", register")];
    for (name, argument) in arguments {
        package.write(&format!("src/bin/{name}.rs"), REGISTERED.replace("ARGUMENT", argument));
        // Linkers follow what a library needs; the stand-in lies beside it.
        let link = format!("-C link-arg=-Wl,-rpath-link,{runtime}");
        let mut build = package.cargo(&["build", "--release", "--bin", name]);
        let build = build.env("OFFLOAD_CLANG", llvm_bin().join("clang")).env("RUSTFLAGS", link);
        succeed(build.env("CARGO_TARGET_DIR", package.folder.join("target")));
        let program = package.folder.join("target/release").join(name);
        for gpu in ["gfx90a:sramecc+:xnack-", "gfx1030"] {
            let outcome = run(&program, gpu, &[]);
            assert_eq!((outcome.status, &*outcome.stdout), (Some(0), "add 0\nsub 0\n"), "{outcome:#?}");
            for kernel in ["add", "sub"] {
                assert!(outcome.log.contains(&format!("symbol: {kernel}.kd")), "{outcome:#?}");
            }
        }
        // None of them fits.
        let outcome = run(&program, "gfx906:sramecc+:xnack-", &[]);
        assert!(outcome.stderr.contains("hipErrorNoBinaryForGpu"), "{outcome:#?}");
        // Without a GPU it starts all the same.
        let outcome = run(&program, "", &["none"]);
        assert_eq!((outcome.status, &*outcome.stdout), (Some(0), ""), "{outcome:#?}");
    }
}

/// Launches both kernels, unless it gets an argument.
const REGISTERED: &str = r#"
use offload_format::KernelPack;
use std::ffi::{c_int, c_void};
use std::ptr;

mod pack {
    #![forbid(unsafe_code)]
    pub static PACK: super::KernelPack = offload_embed_macro::include_offload!(ARGUMENT);
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
    let launch = |kernel: offload_format::embedded::Kernel| {
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

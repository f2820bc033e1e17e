//! Tests of the run time, `offload_gpu::run`. One program, `program/main.rs`, runs on the CPU and
//! on fake GPUs of both vendors. The stand-ins report violations of a driver's rules. No run may
//! violate any.

mod compressed;
mod cpu;
mod cuda;
mod fail_each_call;
mod foreign;
mod hip;
mod intel;
mod named;
mod opencl;
mod process;
mod stacks;
mod templates;
mod variables;

use offload_tests::prelude::*;
use offload_tests::stand_ins::{Outcome, Staged, cuda_driver};
use std::sync::atomic::{AtomicUsize, Ordering};

const GPU: Needs = needs(&[Tool::Llvm22, Tool::Gcc, Tool::Cuda, Tool::AnyGpu]);

/// The program that these tests run. A panic in any thread ends the whole program with a signal.
/// Otherwise, the tests would not notice the panic.
static PROGRAM: LazyLock<Program> = LazyLock::new(|| Program::build("run_time", ""));

struct Program {
    scenario: Scenario,
    path: PathBuf,
}

impl Program {
    /// Builds the program for the targets in the build script. If `target` is not empty, it
    /// replaces all GPU targets.
    fn build(name: &str, target: &str) -> Self {
        let scenario = sources(name);
        // Switch off debug information, which Cargo's dev profile would add to all images. Only the
        // pack `traced` requests it. The setting applies only to this package, so Cargo recompiles
        // no other package.
        let debug = format!("profile.dev.package.{name}.debug=false");
        scenario.build().env("RUN_TIME_TARGET", target).args(["--config", &debug]).passes();
        let path = scenario.program("debug", scenario.name());
        Self { scenario, path }
    }
}

/// Returns the program's package.
fn sources(name: &str) -> Scenario {
    let mut scenario = Scenario::without_sources(name);
    scenario.feature("offload-gpu", "files");
    let manifest = scenario.text("Cargo.toml") + "\n[lib]\ncrate-type = [\"cdylib\"]\n";
    scenario
        .write("Cargo.toml", manifest)
        .write("src/lib.rs", LIBRARY)
        .write("src/main.rs", include_str!("program/main.rs"))
        .write("src/named.rs", include_str!("program/named.rs"))
        .write("src/stack_limits.rs", include_str!("program/stack_limits.rs"))
        .write("src/templates.rs", include_str!("program/templates.rs"))
        .write("stand_in_kernels", KERNELS)
        .write("kernels/math.cu", include_str!("program/kernels.cu"))
        .write("kernels/named.cu", include_str!("program/named.cu"))
        .write("kernels/stacks.cu", include_str!("program/stacks.cu"))
        .write("kernels/templates.cu", include_str!("program/templates.cu"))
        .write("src/variables.rs", include_str!("program/variables.rs"))
        .write("kernels/variables.cu", include_str!("program/variables.cu"))
        .write("kernels/more_variables.cu", include_str!("program/more_variables.cu"))
        .write("kernels/first.cu", value("value", 1))
        .write("kernels/second.cu", value("other", 2))
        .write("kernels/one.cu", value("value", 1) + &alike(16))
        .write("kernels/two.cu", value("value", 2) + &alike(1024))
        .build_script(BUILD);
    scenario
}

/// A library with launches, which the program loads and unloads.
const LIBRARY: &str = r#"
offload_gpu::include_kernels!("stacks");
#[unsafe(no_mangle)]
extern "C" fn launches() {
    let device = offload_gpu::run::Device::cpu();
    let mut x = device.buffer(&[1; 64]).unwrap();
    unsafe { turn(&mut x).launch(&device, 1, 64).unwrap() };
}
"#;

/// The output of the program's mode `saxpy` on the CPU.
const RAN_ON_CPU: &str = "cpu (linux x86_64): the cpu shared object computed 1000";

/// Runs the program on this machine's drivers, in the modes whose results do not depend on a
/// stand-in.
#[test(GPU)]
fn the_drivers_of_this_machine_run_the_program() {
    let modes = "saxpy all bits in-turn modules fork static thread-local late".split(' ');
    for arguments in modes.map(|mode| vec![mode]).chain([vec!["threads", "1000"]]) {
        let output = processes::output(Command::new(&PROGRAM.path).args(&arguments));
        let output = output.expect("the program starts");
        assert!(output.status.success(), "{arguments:?}: {}", stderr(&output));
        if arguments == ["saxpy"] {
            let printed = stdout(&output);
            assert!(!printed.starts_with("cpu"), "no image ran on a GPU: {printed}");
            assert!(printed.ends_with(" computed 1000 of 1000\n"), "{printed}");
        }
    }
}

/// Returns the source of a kernel that writes a number.
fn value(name: &str, value: i32) -> String {
    format!("extern \"C\" __global__ void {name}(int *y) {{ *y = {value}; }}\n")
}

/// Returns the rest of a source. Its kernels have the same names in two packs, but use different
/// sizes of shared memory. g++ gives a template's variable a symbol that all libraries of a program
/// share. The loader never unloads a library with such a symbol, or with a `thread_local` that has
/// a destructor.
fn alike(size: usize) -> String {
    format!(
        r#"template <typename T> __global__ void fill(T *y) {{
  __shared__ T tile[{size}];
  for (int i = 0; i < {size}; i++)
    tile[i] = i;
  *y = tile[{size} - 1];
}}
template __global__ void fill<int>(int *y);
#if defined(OFFLOAD_CPU)
struct Kept {{
  int value = {size};
  ~Kept() {{ value = 0; }}
}};
static thread_local Kept kept;
extern "C" __global__ void keep(int *y) {{ *y = kept.value; }}
#else
extern "C" __global__ void keep(int *y) {{}}
#endif
"#
    )
}

/// The kernels that the stand-ins log but do not compute. Each line contains a name, and the offset
/// and size of each parameter. tests/src/stand_ins/kernels.h describes the format.
const KERNELS: &str = "reverse 0:8 8:8\nblock_sum 0:8 8:8\non_gpus_only 0:8\nvalue 0:8\nother 0:8\n\
     _Z4fillILj1EEvPi 0:8\n_Z4fillILj3EEvPi 0:8\n\
     _Z5applyI5TwiceLi2EfLb1EL4Mode1EEvP4PairIT1_EPS3_ 0:8 8:8\n\
     _Z5applyI6ThriceLin3EdLb0EL4Mode0EEvP4PairIT1_EPS3_ 0:8 8:8\n\
     _Z5scaleI5PointEvPT_S1_i 0:8 8:8 16:4\n_Z5scaleIdEvPT_S0_i 0:8 8:8 16:4\n\
     _Z5scaleIfEvPT_S0_i 0:8 8:4 12:4\n_Z5storeIbEvPT_PKS0_S0_ 0:8 8:8 16:1\n\
     _Z5storeIfEvPT_PKS0_S0_ 0:8 8:8 16:4\n_ZN2ns7convertIdiEEvPKT_PT0_i 0:8 8:8 16:4\n\
     _ZN2ns7convertIfdEEvPKT_PT0_i 0:8 8:8 16:4\n_ZN2ns7convertIfiEEvPKT_PT0_i 0:8 8:8 16:4\n";

// Packs for tests on the CPU also have a GPU target, because kernels' signatures come from images
// for GPUs. Version 5 of HIP's runtime accepts only version 4 code objects. Without optimization,
// kernels need a buffer for messages to the host, which the stand-in does not provide.
const BUILD: &str = r#"
    let pack = |name: &str, files: &[&str], archs: &[&str], flags: &[&str]| {
        let mut archs: Vec<String> = archs.iter().map(ToString::to_string).collect();
        let target = std::env::var("RUN_TIME_TARGET").unwrap_or_default();
        if !target.is_empty() && archs.iter().any(|arch| arch != "cpu") {
            archs.retain(|arch| arch == "cpu");
            archs.push(target);
        }
        let mut build = Build::new();
        build.modules(files.iter().map(|file| format!("kernels/{file}.cu"))).archs(archs);
        for flag in flags {
            build.flag(*flag);
        }
        if name == "compressed" {
            build.compress();
        }
        // Without optimization, threads have stacks, and recursion does not become a loop.
        let level = if files[0] == "stacks" { 0 } else { 2 };
        build.opt_level(level).code_object_version(4).compile(name);
    };
    pack("math", &["math"], &["sm_80", "sm_90", "compute_80", "gfx90a", "gfx1030", "gfx1100", "cpu"], &[]);
    pack("modules", &["first", "second"], &["sm_80", "cpu"], &[]);
    pack("compressed", &["first", "second"], &["sm_80", "compute_80", "cpu"], &[]);
    let empty = |name: &str| {
        let mut module = offload_build::Module::new(name);
        module.file("kernels/variables.cu").supports([">=sm_120"]).allow_empty();
        module
    };
    let mut full = offload_build::Module::new("full");
    full.file("kernels/variables.cu");
    let modules = [empty("none"), empty("neither"), full, empty("last")];
    let mut build = Build::new();
    modules.into_iter().for_each(|module| drop(build.module(module)));
    build.archs(["compute_80", "cpu"]).opt_level(2).compile("some_empty");
    pack("one", &["one"], &["compute_80", "cpu"], &[]);
    pack("two", &["two"], &["compute_80", "cpu"], &[]);
    pack("for_gpus", &["one"], &["sm_80", "gfx90a"], &[]);
    pack("named", &["named"], &["compute_80", "gfx90a", "cpu"], &[]);
    pack("templates", &["templates"], &["compute_80", "gfx1100", "cpu"], &[]);
    pack("variables", &["variables", "more_variables"], &["sm_80", "compute_80", "gfx1100", "cpu"], &[]);
    pack("variables_on_cpu", &["variables"], &["cpu"], &[]);
    pack("stacks", &["stacks"], &["cpu"], &[]);
    pack("divided", &["stacks"], &["cpu"], &["-DOFFLOAD_CPU_DIVIDING_GUARDS"]);
    pack("deep", &["stacks"], &["cpu"], &["-DOFFLOAD_CPU_STACK=16000000"]);
    pack("small", &["stacks"], &["cpu"], &["-DOFFLOAD_CPU_STACK=4096"]);
    pack("traced", &["two"], &["compute_80", "cpu"], &["-g"]);
"#;

/// The folder of the stand-in for NVIDIA's driver. Compiled without flags, the stand-in exports all
/// functions that the run time needs.
static DRIVER: LazyLock<PathBuf> = LazyLock::new(|| cuda_driver("run_time_driver", &[]));

/// Returns the program on fake NVIDIA GPUs, without AMD GPUs.
fn on_gpus(capabilities: &str) -> Staged {
    on_driver(&DRIVER, capabilities)
}

fn on_driver(libraries: &Path, capabilities: &str) -> Staged {
    Staged::new(&PROGRAM.path, libraries)
        .with("FAKE_GPU", capabilities)
        .with("FAKE_KERNELS", PROGRAM.scenario.folder.join("stand_in_kernels"))
        .with("HIP_VISIBLE_DEVICES", "-1")
}

/// Runs the program, and asserts that the stand-in's log reports no misuse.
#[track_caller]
fn run(staged: &Staged, args: &[&str]) -> Outcome {
    let outcome = run_loosely(staged, args);
    outcome.keeps_the_rules();
    outcome
}

fn run_loosely(staged: &Staged, args: &[&str]) -> Outcome {
    static RUNS: AtomicUsize = AtomicUsize::new(0);
    let number = RUNS.fetch_add(1, Ordering::Relaxed);
    staged.run(args, &PROGRAM.scenario.folder.join(format!("log-{number}")))
}

/// Compares the output of runs with the expected file, which `BLESS=1` rewrites.
#[track_caller]
fn assert_expected(name: &str, text: &str) {
    let path = scratch::workspace().join("tests/runtimes/run/expected").join(format!("{name}.txt"));
    assert_as_checked_in(&path, text);
}

/// Returns a run as text: a title, the program's output, and the program's exit status.
fn transcript(title: &str, outcome: &Outcome) -> String {
    let status = outcome.status.map_or("a signal".to_owned(), |status| status.to_string());
    format!("--- {title}\n{}{}status: {status}\n", outcome.stdout, outcome.stderr)
}

//! The examples as a new user meets them: copied out of the repository, built and run by the commands of their READMEs, on
//! machines with the GPUs that a stand-in pretends, and without any.

// Each test file uses its part of these.
#[allow(dead_code)]
#[path = "stand_ins/hsa.rs"]
mod hsa;
#[allow(dead_code)]
mod stand_ins;

use offload_tests::package::{Package, printed};
use offload_tests::tools::{Tool, cuda, llvm, llvm_bin, stderr, stdout, succeed};
use offload_tests::{scratch, test};
use stand_ins::{compile, described};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Output};
use std::sync::LazyLock;

fn main() -> ExitCode {
    offload_tests::run(vec![
        test("cuda_vector_add", &[Tool::Gcc], cuda_vector_add),
        test("cuda_vector_add_on_a_real_gpu", &[Tool::NvidiaGpu], cuda_on_a_real_gpu),
        test("hip_vector_add", &[Tool::Gcc], hip_vector_add),
        test("hip_vector_add_with_the_real_runtime", &[Tool::Gcc, Tool::Llvm22, Tool::Hip5], hip_with_the_real_runtime),
        test("module_library", &[Tool::Gcc, Tool::Python], module_library),
        test("one_source", &[Tool::Gcc], one_source),
        test("several_gpus", &[Tool::Gcc], several_gpus),
        test("read_a_bundle", &[], read_a_bundle),
        test("rust_kernels", &[Tool::Gcc], rust_kernels),
        test("rust_kernels_from_source", &[Tool::Llvm22, Tool::RustGpu], rust_kernels_from_source),
        test("cuda_launchers", &[Tool::Nvcc, Tool::Cuda, Tool::Gcc], cuda_launchers),
        test("cuda_launchers_on_a_real_gpu", &[Tool::Nvcc, Tool::Gcc, Tool::NvidiaGpu], cuda_launchers_on_a_real_gpu),
        test("cuda_launchers_without_nvcc", &[], cuda_launchers_without_nvcc),
        test("packs_that_cannot_serve_are_told", &[Tool::Gcc], packs_that_cannot_serve),
        test("readmes_say_first_what_the_examples_need", &[], readmes),
        test("what_examples_share_is_the_same", &[], what_examples_share),
    ])
}

const ALL: [&str; 8] = [
    "cuda-vector-add",
    "hip-vector-add",
    "module-library",
    "one-source",
    "several-gpus",
    "read-a-bundle",
    "rust-kernels",
    LAUNCHERS,
];

/// The one that has no prebuilt images, and needs nvcc.
const LAUNCHERS: &str = "cuda-launchers";

/// A copy of an example. No compiler for GPUs is asked, but for static libraries: its images are the prebuilt ones.
struct Example {
    name: &'static str,
    package: Package,
    /// The `console` blocks of its README.
    blocks: Vec<Vec<Step>>,
}

/// A command, and what the README says that it prints.
struct Step {
    command: String,
    printed: String,
}

impl Example {
    fn new(name: &'static str) -> Self {
        Self::copied(name, name)
    }

    fn copied(name: &'static str, to: &str) -> Self {
        let package = Package::copied_out(name, to);
        // Where the README's commands expect it.
        std::os::unix::fs::symlink(&package.target, package.folder.join("target")).expect("the folder can be written");
        let readme = fs::read_to_string(package.folder.join("README.md")).expect("an example has a README");
        let blocks: Vec<Vec<Step>> = readme.split("```console\n").skip(1).map(steps).collect();
        assert!(!blocks.is_empty(), "{name}: the README has no commands");
        Self { name, package, blocks }
    }

    /// Runs the commands of a block of the README. What they print must be what the README says, after the replacements; an
    /// error goes with the status 1.
    #[track_caller]
    fn follow(&self, block: usize, variables: &[(&str, &str)], replacements: &[(&str, &str)]) {
        for step in &self.blocks[block] {
            let output = self.run(&step.command, variables);
            let mut text = said(&output);
            for (from, to) in replacements {
                text = text.replace(from, to);
            }
            assert_eq!(text, step.printed, "{}: $ {}", self.name, step.command);
            let status = i32::from(step.printed.contains("error: "));
            assert_eq!(output.status.code(), Some(status), "{}: $ {}", self.name, step.command);
        }
    }

    fn run(&self, line: &str, variables: &[(&str, &str)]) -> Output {
        let words: Vec<&str> = line.split(' ').collect();
        let mut command = match words[..] {
            ["cargo", verb, ref rest @ ..] => self.package.cargo(&[&[verb, "--quiet"], rest].concat()),
            [program, ref rest @ ..] => {
                let mut command = Command::new(program);
                command.args(rest).current_dir(&self.package.folder);
                command
            }
            [] => panic!("an empty command in the README of {}", self.name),
        };
        // GPUs of this machine are hidden; stand-ins look at other variables.
        for name in ["ROCM_PATH", "HIP_PATH", "CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL"] {
            command.env_remove(name);
        }
        // nvcc is that of `CUDA_HOME`.
        for name in ["NVCC", "CUDACXX", "CUDA_PATH", "CUDA_ROOT", "CUDA_TOOLKIT_ROOT_DIR"] {
            command.env_remove(name);
        }
        if let Some(path) = &*HIP_OF_THE_BINDING {
            command.env("PATH", path);
        }
        command.env("OFFLOAD_PREBUILT", "only").env("OFFLOAD_CLANG", "/no/such/clang").envs(variables.iter().copied());
        command.output().unwrap_or_else(|error| panic!("{line}: {error}"))
    }

    fn prebuilt(&self, file: &str) -> Vec<u8> {
        let path = self.package.folder.join("prebuilt").join(file);
        fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }
}

/// What is between the fences of a block.
fn steps(rest: &str) -> Vec<Step> {
    let (block, _) = rest.split_once("```").expect("a block of code ends");
    let mut steps: Vec<Step> = Vec::new();
    for line in block.lines() {
        match (line.strip_prefix("$ "), steps.last_mut()) {
            (Some(command), _) => steps.push(Step { command: command.to_owned(), printed: String::new() }),
            (None, Some(step)) => {
                step.printed += line;
                step.printed += "\n";
            }
            (None, None) => panic!("'{line}' comes before a command"),
        }
    }
    steps
}

/// What a command printed, without what the build says of prebuilt images.
fn said(output: &Output) -> String {
    let warning = |line: &&str| line.starts_with("warning: ") && line.contains("@0.1.0: pack \"");
    let errors: Vec<String> =
        stderr(output).lines().filter(|line| !warning(line)).map(|line| line.to_owned() + "\n").collect();
    stdout(output) + &errors.concat()
}

/// A folder with the stand-in for NVIDIA's driver.
static DRIVER: LazyLock<PathBuf> = LazyLock::new(|| {
    let folder = scratch::folder("examples-cuda-driver");
    compile("cuda_driver.c", &["-shared", "-fPIC", "-Wl,-soname,libcuda.so.1"], &folder.join("libcuda.so.1"));
    folder
});

/// The variables by which a program finds pretended NVIDIA GPUs, and a new file for what the stand-in writes down.
fn on_gpus<'a>(capabilities: &'a str, log: &'a Path) -> Vec<(&'a str, &'a str)> {
    let _ = fs::remove_file(log);
    vec![
        ("LD_LIBRARY_PATH", DRIVER.to_str().expect("the target folder's name is UTF-8")),
        ("FAKE_GPU", capabilities),
        // Threads that do not wait for the one that loads are found out.
        ("FAKE_SLOW", "50"),
        ("FAKE_LOG", log.to_str().expect("the target folder's name is UTF-8")),
    ]
}

/// `PATH` with a `hipconfig` of a version that cubecl-hip-sys has bindings for, where this machine has some `hipconfig`: its
/// build fails where it does not know the version.
static HIP_OF_THE_BINDING: LazyLock<Option<OsString>> = LazyLock::new(|| {
    let path = std::env::var_os("PATH")?;
    if !std::env::split_paths(&path).any(|folder| folder.join("hipconfig").is_file()) {
        return None;
    }
    let folder = scratch::folder("examples-hipconfig");
    scratch::write(folder.join("hipconfig"), "#!/bin/sh\necho 7.14.60850-0\n");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(folder.join("hipconfig"), mode).expect("the scratch folder can be written");
    let folders = [folder].into_iter().chain(std::env::split_paths(&path));
    Some(std::env::join_paths(folders).expect("the folders came out of PATH"))
});

/// The lines of a log, without those of misuse, of which there must be none.
#[track_caller]
fn read_log(log: &Path) -> Vec<String> {
    let lines: Vec<String> = fs::read_to_string(log).unwrap_or_default().lines().map(str::to_owned).collect();
    assert!(!lines.iter().any(|line| line.contains("misuse")), "{lines:#?}");
    lines
}

/// What is said where there is a driver and no GPU, and what READMEs say for the more frequent case.
const NO_CUDA: (&str, &str) = (
    "no NVIDIA GPU: the CUDA driver finds none",
    "no CUDA driver: its library (libcuda.so.1, nvcuda.dll) was not found",
);
const NO_HIP: (&str, &str) = (
    "no AMD GPU: the HIP runtime finds none",
    "no HIP runtime: libamdhip64.so and libhiprtc.so were not found, also not in $ROCM_PATH/lib",
);
const HIDDEN: [(&str, &str); 2] = [("CUDA_VISIBLE_DEVICES", ""), ("HIP_VISIBLE_DEVICES", "-1")];

fn cuda_vector_add() {
    let example = Example::new("cuda-vector-add");
    let log = DRIVER.join("cuda-vector-add.log");

    // Four threads ask at once; the module is loaded once.
    example.follow(0, &on_gpus("9.0", &log), &[("Fake GPU 9.0", "NVIDIA H100 80GB HBM3")]);
    let lines = read_log(&log);
    let loads: Vec<&String> = lines.iter().filter(|line| line.starts_with("cuModuleLoadData")).collect();
    let image = described(&example.prebuilt("vector_add.sm_90.cubin"));
    assert_eq!(loads, [&format!("cuModuleLoadData: GPU 0, cubin, {image}")]);
    assert_eq!(lines.iter().filter(|line| line.starts_with("cuLaunchKernel")).count(), 4);

    // PTX goes to the driver as it is, as far as its NUL.
    let output = example.run("cargo run", &on_gpus("12.1", &log));
    assert_eq!(said(&output), "Fake GPU 12.1: the compute_80 PTX computed 1048576 sums, all right.\n");
    let image = described(&example.prebuilt("vector_add.compute_80.ptx"));
    assert!(read_log(&log).contains(&format!("cuModuleLoadData: GPU 0, PTX, {image}")));

    example.follow(1, &HIDDEN, &[NO_CUDA]);
    example.follow(2, &on_gpus("7.5", &log), &[]);

    // Threads that ask at once for what cannot be loaded.
    for (failure, error) in [
        (
            "cuModuleLoadData=200",
            "the CUDA driver does not load the sm_90 cubin: DriverError(CUDA_ERROR_INVALID_IMAGE, ",
        ),
        ("cuMemAlloc_v2=2", "the CUDA driver failed: DriverError(CUDA_ERROR_OUT_OF_MEMORY, "),
        ("cuInit=100", "no NVIDIA GPU: the CUDA driver finds none"),
        ("cuInit=999", "the CUDA driver failed: DriverError(CUDA_ERROR_UNKNOWN, "),
    ] {
        let variables = [on_gpus("9.0", &log), vec![("FAKE_ERROR", failure)]].concat();
        let output = example.run("cargo run", &variables);
        assert_eq!(output.status.code(), Some(1), "{failure}: {}", printed(&output));
        assert!(said(&output).starts_with(&format!("error: {error}")), "{failure}: {}", printed(&output));
        read_log(&log);
    }
    let variables = [on_gpus("9.0", &log), vec![("FAKE_KERNEL_END", "1000")]].concat();
    let output = example.run("cargo run", &variables);
    // Of a part, the first 1000 elements.
    assert_eq!(said(&output), "error: wrong result: element 1000 is 0, not 1001\n");
}

/// What is prebuilt, machine code and PTX, on the GPU of this machine.
fn cuda_on_a_real_gpu() {
    let example = Example::copied("cuda-vector-add", "cuda-vector-add-real");
    let output = example.run("cargo run", &[]);
    assert_eq!(output.status.code(), Some(0), "{}", printed(&output));
    assert!(said(&output).ends_with(" computed 1048576 sums, all right.\n"), "{}", printed(&output));
    let output = example.run("cargo run", &[("OFFLOAD_ARCH", "compute_80")]);
    assert_eq!(output.status.code(), Some(0), "{}", printed(&output));
    assert!(
        said(&output).ends_with(": the compute_80 PTX computed 1048576 sums, all right.\n"),
        "{}",
        printed(&output)
    );
}

fn several_gpus() {
    let example = Example::new("several-gpus");
    let log = DRIVER.join("several-gpus.log");
    let named = [
        ("Fake GPU 8.6", "NVIDIA A10"),
        ("Fake GPU 9.0", "NVIDIA H100 80GB HBM3"),
        ("Fake GPU 12.0", "NVIDIA RTX PRO 6000"),
    ];
    example.follow(0, &on_gpus("8.6,9.0,12.0", &log), &named);
    // Each GPU has got its own image, once.
    let mut loads: Vec<String> =
        read_log(&log).into_iter().filter(|line| line.starts_with("cuModuleLoadData")).collect();
    loads.sort();
    let load = |gpu: usize, kind: &str, file: &str| {
        format!("cuModuleLoadData: GPU {gpu}, {kind}, {}", described(&example.prebuilt(&format!("vector_add.{file}"))))
    };
    let expected = [load(0, "cubin", "sm_80.cubin"), load(1, "cubin", "sm_90.cubin"), load(2, "PTX", "compute_80.ptx")];
    assert_eq!(loads, expected);

    example.follow(1, &HIDDEN, &[]);
    example.follow(2, &HIDDEN, &[NO_CUDA]);

    // One that nothing fits does not stop the others.
    let output = example.run("cargo run", &on_gpus("7.5,8.0", &log));
    assert_eq!(output.status.code(), Some(1), "{}", printed(&output));
    assert_eq!(stdout(&output), "GPU 1, Fake GPU 8.0: sm_80 cubin, 10000 of 10000 sums are right\n");
    let errors = said(&output);
    assert!(errors.contains("\nGPU 0, Fake GPU 7.5: no image for sm_75 (CUDA driver 12.8)\n"), "{errors}");
    assert!(errors.ends_with("\nerror: 1 of 2 GPUs did not compute\n"), "{errors}");
    read_log(&log);

    for (arguments, error) in [
        ("--pretend", "error: usage: several-gpus [--pretend gfx90a,sm_90,...]\n"),
        ("--pretend nonsense", "error: 'nonsense': not a device: "),
    ] {
        let output = example.run(&format!("cargo run -- {arguments}"), &HIDDEN);
        assert_eq!(output.status.code(), Some(1), "{arguments}: {}", printed(&output));
        assert!(said(&output).starts_with(error), "{arguments}: {}", printed(&output));
    }
}

fn hip_vector_add() {
    let example = Example::new("hip-vector-add");
    let libraries = scratch::folder("examples-hip");
    compile("hip_runtime.c", &["-shared", "-fPIC"], &libraries.join("libamdhip64.so"));
    empty_library(&libraries, "libhiprtc.so");
    let log = libraries.join("log");
    let on_gpu = |gpu, failure| {
        let mut variables = on_gpus(gpu, &log);
        variables[0].1 = libraries.to_str().expect("the target folder's name is UTF-8");
        [variables, vec![("FAKE_ERROR", failure)]].concat()
    };

    // Four threads ask at once; the module is loaded once.
    example.follow(0, &on_gpu("gfx90a:sramecc+:xnack-", ""), &[]);
    let mut lines = read_log(&log);
    let image = described(&example.prebuilt("vector_add.gfx90a.hsaco"));
    assert_eq!(lines.remove(0), format!("hipModuleLoadData: {image}"));
    assert_eq!(lines, ["hipModuleLaunchKernel: 1024 blocks of 256 threads"; 4]);

    example.follow(1, &HIDDEN, &[NO_HIP]);

    for (gpu, failure, error) in [
        ("", "", "no AMD GPU: the HIP runtime finds none\n"),
        ("gfx1201", "", "no image for gfx1201\n  gfx90a         code for another processor\n"),
        ("", "hipGetDeviceCount=999", "hipGetDeviceCount returned hipErrorUnknown (999)\n"),
        ("a GPU", "", "the GPU's name for its target: 'a GPU': "),
        (
            "gfx1100",
            "hipModuleLoadData=200",
            "the HIP runtime does not load the gfx11-generic code object: hipErrorInvalidImage (200)\n",
        ),
        ("gfx942", "hipMalloc=2", "hipMalloc returned hipErrorUnknown (2)\n"),
        ("gfx942", "hipSetDevice=101", "hipSetDevice returned hipErrorUnknown (101)\n"),
    ] {
        let output = example.run("cargo run", &on_gpu(gpu, failure));
        assert_eq!(output.status.code(), Some(1), "{gpu} {failure}: {}", printed(&output));
        assert!(said(&output).starts_with(&format!("error: {error}")), "{gpu} {failure}: {}", printed(&output));
    }
}

/// What cubecl-hip-sys wants to be there, and does not use.
fn empty_library(folder: &Path, name: &str) {
    scratch::write(folder.join("empty.c"), "");
    succeed(Command::new("gcc").current_dir(folder).args(["-shared", "empty.c", "-o", name]));
}

/// AMD's runtime of version 5 on a pretended GPU, with what HIP 6 would have in addition. It loads the image, and computes
/// nothing.
fn hip_with_the_real_runtime() {
    let libraries = hsa::libraries("examples-hip-runtime");
    // The binding looks for libamdhip64.so and wants libhiprtc.so beside it.
    let hip = libraries.join("libamdhip64.so");
    fs::remove_file(&hip).expect("it is a link to the runtime");
    let runtime = libraries.join(hsa::RUNTIME);
    let runtime = runtime.to_str().expect("the target folder's name is UTF-8");
    compile("hip6_names.c", &["-shared", "-fPIC", "-Wl,--no-as-needed", runtime], &hip);
    empty_library(&libraries, "libhiprtc.so");

    // This runtime takes code objects of version 4 only. Without optimization a kernel asks for a service of the host's that the
    // stand-in has not got.
    let name = "hip-vector-add-5";
    let example = Example::copied("hip-vector-add", name);
    let script = fs::read_to_string(example.package.folder.join("build.rs")).expect("the example has a build script");
    let version_4 = script.replace(".compile(", ".code_object_version(4).flag(\"-O2\").compile(");
    assert_ne!(version_4, script);
    example.package.write("build.rs", version_4);
    let (clang, log) = (llvm_bin().join("clang"), libraries.join("log"));
    let path = |path: &Path| path.to_str().expect("the target folder's name is UTF-8").to_owned();
    let (clang, folder, log_name) = (path(&clang), path(&libraries), path(&log));
    let run = |gpu: &str| {
        let _ = fs::remove_file(&log);
        let variables = [
            ("OFFLOAD_CLANG", clang.as_str()),
            ("OFFLOAD_PREBUILT", "never"),
            ("OFFLOAD_ARCH", "gfx90a gfx1030"),
            ("LD_LIBRARY_PATH", &folder),
            ("FAKE_GPU", gpu),
            ("FAKE_LOG", &log_name),
        ];
        let output = example.run("cargo run", &variables);
        let lines: Vec<String> = fs::read_to_string(&log).unwrap_or_default().lines().map(str::to_owned).collect();
        (output, lines)
    };

    let (output, lines) = run("gfx90a:sramecc+:xnack-");
    assert_eq!(said(&output), "error: wrong result: element 0 is 0, not 1\n", "{lines:#?}");
    assert_eq!(output.status.code(), Some(1));
    let image = example.package.own_output("debug", "vector_add/gfx90a.hsaco");
    let image = described(&fs::read(image).expect("the image can be read"));
    // Four threads asked at once.
    let loads = lines.iter().filter(|line| **line == format!("code object: {image}")).count();
    assert_eq!(loads, 1, "{lines:#?}");
    assert!(lines.iter().any(|line| line == "symbol: vector_add.kd"), "{lines:#?}");

    let (output, lines) = run("gfx906:sramecc+:xnack-");
    let error = "\
error: no image for gfx906:sramecc+:xnack-
  gfx90a   code for another processor
  gfx1030  code for another processor
to run on this device, add \"gfx906\" to the targets of build.rs
";
    assert_eq!((output.status.code(), &*said(&output)), (Some(1), error));
    assert!(lines.is_empty(), "{lines:#?}");

    let (output, _) = run("");
    assert_eq!((output.status.code(), &*said(&output)), (Some(1), "error: no AMD GPU: the HIP runtime finds none\n"));
}

fn module_library() {
    let example = Example::new("module-library");
    for block in 0..example.blocks.len() {
        example.follow(block, &[], &[]);
    }
}

fn one_source() {
    let example = Example::new("one-source");
    for block in 0..example.blocks.len() {
        example.follow(block, &[], &[]);
    }
}

fn read_a_bundle() {
    let example = Example::new("read-a-bundle");
    example.follow(0, &[], &[]);
    let output = example.run("cargo run nothing", &[]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(said(&output), "error: nothing: No such file or directory (os error 2)\n");
}

fn rust_kernels() {
    let example = Example::new("rust-kernels");
    let log = DRIVER.join("rust-kernels.log");
    example.follow(0, &on_gpus("9.0", &log), &[("Fake GPU 9.0", "NVIDIA H100 80GB HBM3")]);
    assert!(read_log(&log).contains(&"cuLaunchKernel: 40 blocks of 256 threads".to_owned()));
    example.follow(1, &HIDDEN, &[NO_CUDA]);
}

/// The script compiles the kernels to what is checked in, if the compiler is that with which it was made.
fn rust_kernels_from_source() {
    let name = "rust-kernels-from-source";
    let example = Example::copied("rust-kernels", name);
    let folder = &example.package.folder;
    let images = ["saxpy.compute_80.ptx", "saxpy.gfx90a.hsaco"];
    let read = |image: &str| fs::read(folder.join("images").join(image)).expect("the image can be read");
    let before = images.map(read);
    fs::remove_dir_all(folder.join("images")).expect("the copy has images");

    let rust = PathBuf::from(std::env::var_os("OFFLOAD_TEST_RUST_GPU").expect("Tool::RustGpu was checked"));
    // What Cargo would download for `core` is vendored beside it.
    let home = scratch::folder("rust-kernels-cargo-home");
    let vendor = rust.join("usr/lib/rustlib/src/rust/library/vendor");
    let config = format!(
        "[source.crates-io]\nreplace-with = \"vendored\"\n[source.vendored]\ndirectory = \"{}\"\n",
        vendor.display()
    );
    scratch::write(home.join("config.toml"), config);
    let rustc = rust.join("usr/bin/rustc");
    let mut script = Command::new("sh");
    // Cargo's own variables, which it sets for tests, are not for another Cargo.
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_") || text.starts_with("RUST") && text != "RUSTUP_HOME" {
            script.env_remove(&name);
        }
    }
    script
        .arg("kernels/build.sh")
        .current_dir(folder)
        .env("CARGO", std::env::var_os("CARGO").unwrap_or("cargo".into()));
    script.env("LD_LIBRARY_PATH", rust.join("usr/lib/x86_64-linux-gnu")).env("LLD", llvm_bin().join("ld.lld"));
    script.env("RUSTC", &rustc).env("RUSTC_BOOTSTRAP", "1").env("CARGO_HOME", home).env("CARGO_NET_OFFLINE", "true");
    script.env("CARGO_TARGET_DIR", scratch::target_dir().join("rust-kernels-target"));
    succeed(&mut script);

    let after = images.map(read);
    let ptx = String::from_utf8_lossy(&after[0]);
    assert!(ptx.contains(".target sm_80\n") && ptx.contains(".visible .entry saxpy("), "{ptx}");
    let header = stdout(&succeed(llvm("llvm-readelf").arg("--file-header").arg(folder.join("images").join(images[1]))));
    assert!(header.contains("gfx90a"), "{header}");
    let version = stdout(&succeed(
        Command::new(&rustc).arg("--version").env("LD_LIBRARY_PATH", rust.join("usr/lib/x86_64-linux-gnu")),
    ));
    if version.starts_with("rustc 1.96.0 ") {
        assert!(before == after, "the images are not what kernels/build.sh makes today");
    }
}

/// Source with launches: the program starts without a driver.
fn cuda_launchers() {
    let example = Example::new(LAUNCHERS);
    if Path::new("/dev/nvidiactl").exists() {
        // The driver can be older than the runtime.
        let output = example.run("cargo run", &HIDDEN);
        let errors = said(&output);
        let is_one = ["error: no NVIDIA GPU: ", "error: the driver, for CUDA "].iter().any(|it| errors.starts_with(it));
        assert!(is_one && output.status.code() == Some(1), "{}", printed(&output));
    } else {
        example.follow(1, &HIDDEN, &[]);
    }
    let program = example.package.program("debug", LAUNCHERS);
    let needs = stdout(&succeed(Command::new("ldd").arg(&program)));
    assert!(!needs.contains("cuda"), "{needs}");
    let listed = stdout(&succeed(cuda("cuobjdump").args(["-lelf", "-lptx"]).arg(&program)));
    for image in [".sm_80.cubin", ".sm_90.cubin", ".sm_80.ptx"] {
        assert_eq!(listed.matches(image).count(), 1, "{image}: {listed}");
    }
}

fn cuda_launchers_on_a_real_gpu() {
    let example = Example::copied(LAUNCHERS, "cuda-launchers-real");
    example.follow(0, &[("CUDA_VISIBLE_DEVICES", "0")], &[]);
}

/// It says so; and whoever only checks the code, or builds the others, needs none.
fn cuda_launchers_without_nvcc() {
    let example = Example::copied(LAUNCHERS, "cuda-launchers-without-nvcc");
    let nowhere = [("NVCC", "/no/such/nvcc")];
    let output = example.run("cargo build", &nowhere);
    assert!(!output.status.success());
    let errors = said(&output);
    assert!(errors.contains("offload-build could not make the static library \"vector_add\""), "{errors}");
    assert!(errors.contains("NVCC names /no/such/nvcc, which cannot be used: there is no such file"), "{errors}");
    let output = example.run("cargo check", &[nowhere[0], ("OFFLOAD_SKIP", "1")]);
    assert_eq!(output.status.code(), Some(0), "{}", printed(&output));

    let workspace = text_of("Cargo.toml");
    let default = workspace.lines().find(|line| line.starts_with("default-members = ")).expect("there is such a line");
    for name in ALL {
        assert_eq!(default.contains(&format!("\"{name}\"")), name != LAUNCHERS, "{name}");
    }
}

/// A pack that was skipped, and one with nothing for this vendor: the program says so, and does not panic.
fn packs_that_cannot_serve() {
    let example = Example::copied("several-gpus", "several-gpus-without-images");
    let log = DRIVER.join("several-gpus-without-images.log");
    for (variable, value, reason) in [
        ("OFFLOAD_SKIP", "1", "no image for sm_90 (CUDA driver 12.8): the pack was not built: "),
        ("OFFLOAD_ARCH", "gfx90a", "no image for sm_90 (CUDA driver 12.8)\n  gfx90a  code for an AMD GPU\n"),
    ] {
        let variables = [on_gpus("9.0", &log), vec![(variable, value)]].concat();
        let output = example.run("cargo run", &variables);
        assert_eq!(output.status.code(), Some(1), "{variable}: {}", printed(&output));
        let errors = said(&output);
        assert!(errors.starts_with(&format!("GPU 0, Fake GPU 9.0: {reason}")), "{variable}: {errors}");
        assert!(errors.ends_with("\nerror: 1 of 1 GPUs did not compute\n"), "{variable}: {errors}");
        assert_eq!(read_log(&log), ["cuDevicePrimaryCtxRetain: GPU 0"]);
    }
}

fn text_of(path: &str) -> String {
    let path = scratch::workspace().join("examples").join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn readmes() {
    let list = text_of("README.md");
    let workspace = text_of("Cargo.toml");
    for name in ALL {
        let readme = text_of(&format!("{name}/README.md"));
        assert!(readme.starts_with("Needs Rust 1.88 or newer"), "{name}");
        assert!(list.contains(&format!("| [{name}]({name}) | ")), "{name} is not in the list");
        assert!(workspace.contains(&format!("\"{name}\"")), "{name} is not in the workspace");
    }
    let folders = fs::read_dir(scratch::workspace().join("examples")).expect("the folder can be read").flatten();
    for folder in folders.filter(|entry| entry.path().join("Cargo.toml").is_file()) {
        let name = folder.file_name();
        assert!(name == "saxpy" || ALL.iter().any(|it| **it == *name), "{} has no test here", name.display());
    }
}

/// Each example can be copied out alone, so that each has its copy.
fn what_examples_share() {
    for (path, examples) in [
        ("src/modules.rs", ["cuda-vector-add", "several-gpus"]),
        ("src/modules.rs", ["cuda-vector-add", "rust-kernels"]),
        ("src/cpu.rs", ["one-source", "module-library"]),
        ("kernels/vector_add.cu", ["cuda-vector-add", "several-gpus"]),
        ("kernels/vector_add.cu", ["cuda-vector-add", "hip-vector-add"]),
    ] {
        let [one, other] = examples.map(|example| text_of(&format!("{example}/{path}")));
        assert!(one == other, "{path} differs between {} and {}", examples[0], examples[1]);
    }
}

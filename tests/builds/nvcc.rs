//! NVIDIA's toolkit as build scripts use it: nvcc for images, CUDA's headers with clang, where toolkits are looked for, and
//! what is said when one does not fit.

use offload_tests::data::read;
use offload_tests::judges::{assert_is_for, image_file_name};
use offload_tests::package::{Package, printed};
use offload_tests::registry::{GCC, NVCC, Needs, needs};
use offload_tests::scratch;
use offload_tests::tools::{Tool, cuda, llvm_bin, stdout, succeed};
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const BOTH: Needs = needs(&[Tool::Nvcc, Tool::Cuda, Tool::Gcc, Tool::Llvm22]);

offload_tests::tests! {
    NVCC => [
        nvcc_makes_every_kind_of_image,
        nvcc_makes_the_same_bytes_twice,
        only_what_changed_is_compiled_by_nvcc,
        one_nvcc_at_a_time_with_one_job,
        a_toolkit_older_than_a_target,
        two_toolkits_that_disagree,
        nvcc_without_a_host_compiler,
        what_nvcc_cannot_link,
        nvcc_says_what_is_wrong_in_a_kernel,
    ],
    BOTH => [
        clang_compiles_with_cuda_headers,
        nvcc_for_nvidia_and_clang_for_amd,
        a_toolkit_among_pythons_packages_is_found,
    ],
    GCC => [a_toolkit_that_is_not_there],
}

/// With a header of CUDA's.
const HALF: &str = "#include <cuda_fp16.h>\n#include \"factor.h\"\n\
                    extern \"C\" __global__ void scale(int n, __half *x) {\n  \
                      int i = blockIdx.x * blockDim.x + threadIdx.x;\n  \
                      if (i < n)\n    x[i] = __hmul(x[i], __float2half(FACTOR));\n}\n";
const FACTOR: &str = "#define FACTOR 2.5f\n";
const CALLED: &str = "__device__ float called(float x) { return x * 3.0f; }\n";
const CALLER: &str = "__device__ float called(float x);\n\
                      extern \"C\" __global__ void call(float *x) { x[threadIdx.x] = called(x[threadIdx.x]); }\n";

fn package(name: &str, build: &str) -> Package {
    let package = Package::new(name);
    package.write("src/lib.rs", "").write("kernels/half.cu", HALF).write("kernels/factor.h", FACTOR);
    package.write("build.rs", format!("use offload_build::*;\n\nfn main() {{\n    {build};\n}}\n"));
    package
}

/// Without the variables that name toolkits, but for `CUDA_HOME`.
fn cargo_build(package: &Package) -> Command {
    let mut command = package.cargo(&["build"]);
    for name in ["NVCC", "CUDACXX", "NVCC_CCBIN", "CUDA_PATH", "CUDA_ROOT", "CUDA_TOOLKIT_ROOT_DIR", "VIRTUAL_ENV"] {
        command.env_remove(name);
    }
    command.env("OFFLOAD_CLANG", llvm_bin().join("clang"));
    command
}

fn cuda_home() -> PathBuf {
    env::var_os("CUDA_HOME").expect("Tool::Nvcc was checked").into()
}

#[track_caller]
fn fails(command: &mut Command) -> String {
    let output = command.output().expect("cargo starts");
    let text = printed(&output);
    assert!(!output.status.success(), "{text}");
    text
}

#[track_caller]
fn assert_says(text: &str, lines: &[&str]) {
    for line in lines {
        assert!(text.contains(line), "'{line}' is not in\n{text}");
    }
}

/// Images for plain, architecture- and family-specific targets, and PTX; two sources that nvlink puts together.
fn nvcc_makes_every_kind_of_image() {
    let package = package(
        "vendor_nvcc",
        "let pack = Build::new().modules([\"kernels/half.cu\"])\n        \
         .module(Module::new(\"linked\").files([\"kernels/caller.cu\", \"kernels/called.cu\"]).targets([\"sm_80\", \"sm_90a\"]))\n        \
         .compiler(Compiler::Nvcc).flag(\"-std=c++17\")\n        \
         .archs([\"sm_80\", \"sm_90a\", \"sm_100f\", \"compute_90\"]).compile(\"pack\");\n    \
         for image in pack.images() {\n        \
         println!(\"cargo::warning={} {:?}\", image.target(), image.kernels().unwrap());\n    }",
    );
    package.write("kernels/caller.cu", CALLER).write("kernels/called.cu", CALLED);
    let text = printed(&succeed(&mut cargo_build(&package)));
    for target in ["sm_80", "sm_90a", "sm_100f", "compute_90"] {
        let image = package.own_output("debug", &format!("pack/half.{}", image_file_name(target)));
        // cuobjdump does not show the letter of a family.
        assert_is_for("half", target.trim_end_matches('f'), &image);
        assert_says(&text, &[&format!("{target} [\"scale\"]")]);
    }
    for target in ["sm_80", "sm_90a"] {
        assert_is_for("linked", target, &package.own_output("debug", &format!("pack/linked.{target}.cubin")));
        assert_says(&text, &[&format!("{target} [\"call\"]")]);
    }
}

/// What nvcc makes does not depend on where the package lies, unless it has lines for debuggers.
fn nvcc_makes_the_same_bytes_twice() {
    let build = "Build::new().file(\"kernels/half.cu\").compiler(Compiler::Nvcc).archs([\"sm_80\", \"compute_80\"])\
                 .compile(\"pack\")";
    let images = ["vendor_same_a", "vendor_same_another"].map(|name| {
        let package = package(name, build);
        let mut command = cargo_build(&package);
        succeed(command.args(["--config", "profile.dev.debug=false"]));
        ["sm_80.cubin", "compute_80.ptx"].map(|image| read(package.own_output("debug", &format!("pack/{image}"))))
    });
    assert!(images[0] == images[1], "two packages, two images");
}

fn clang_compiles_with_cuda_headers() {
    let build = "Build::new().file(\"kernels/half.cu\").compiler(Compiler::ClangCuda).archs([\"sm_80\", \"compute_90\"])\
                 .requires_kernel(\"scale\").compile(\"pack\")";
    let package = package("vendor_clang_cuda", build);
    // A function of libdevice, too.
    package.write("kernels/half.cu", format!("{HALF}extern \"C\" __global__ void s(float *x) {{ *x = sinf(*x); }}\n"));
    let text = printed(&succeed(&mut cargo_build(&package)));
    assert!(!text.contains("warning: vendor_clang_cuda"), "clang warns:\n{text}");
    for target in ["sm_80", "compute_90"] {
        let image = package.own_output("debug", &format!("pack/{}", image_file_name(target)));
        assert_is_for("pack", target, &image);
    }
}

/// nvcc takes no part in images for others.
fn nvcc_for_nvidia_and_clang_for_amd() {
    let package = package(
        "vendor_two",
        "Build::new().file(\"kernels/plain.cu\").compiler(Compiler::Nvcc).archs([\"sm_80\", \"gfx90a\", \"cpu\"])\
         .compile(\"pack\")",
    );
    package.write("kernels/plain.cu", "extern \"C\" __global__ void f(float *x) { x[threadIdx.x] *= 2.0f; }\n");
    succeed(&mut cargo_build(&package));
    for target in ["sm_80", "gfx90a", "cpu"] {
        assert_is_for("pack", target, &package.own_output("debug", &format!("pack/{}", image_file_name(target))));
    }
}

/// An nvcc that writes down when it is started and when it ends, in a toolkit that is the real one otherwise.
fn logging_toolkit(folder: &Path) -> (PathBuf, PathBuf) {
    let (root, log) = (folder.join("toolkit"), folder.join("calls"));
    fs::create_dir_all(root.join("bin")).expect("the folder can be made");
    let script = format!(
        "#!/bin/sh\necho start >> '{log}'\n'{nvcc}' \"$@\"\nstatus=$?\necho end >> '{log}'\nexit $status\n",
        log = log.display(),
        nvcc = cuda_home().join("bin/nvcc").display()
    );
    scratch::write(root.join("bin/nvcc"), script);
    succeed(Command::new("chmod").arg("+x").arg(root.join("bin/nvcc")));
    (root, log)
}

fn calls(log: &Path) -> String {
    let text = fs::read_to_string(log).unwrap_or_default();
    let _ = fs::remove_file(log);
    text
}

/// Nothing changed: no nvcc starts. A header changed: what includes it is compiled, for each target, and nothing else.
fn only_what_changed_is_compiled_by_nvcc() {
    let package = package(
        "vendor_rebuilds",
        "println!(\"cargo::rerun-if-env-changed=AGAIN\");\n    \
         Build::new().modules([\"kernels/half.cu\", \"kernels/called.cu\"]).compiler(Compiler::Nvcc)\
         .archs([\"sm_80\", \"sm_90\"]).compile(\"pack\")",
    );
    package.write("kernels/called.cu", CALLED);
    let (root, log) = logging_toolkit(&package.folder);
    let build = |again: &str| {
        succeed(cargo_build(&package).env("CUDA_HOME", &root).env("AGAIN", again));
        calls(&log).matches("start").count()
    };
    assert!(build("1") >= 4, "four images");
    assert_eq!(build("2"), 0, "nothing changed");
    let times = || {
        ["half.sm_80", "half.sm_90", "called.sm_80"].map(|image| {
            let path = package.own_output("debug", &format!("pack/{image}.cubin"));
            fs::metadata(path).and_then(|metadata| metadata.modified()).expect("the image is there")
        })
    };
    let before = times();
    package.write("kernels/factor.h", FACTOR.replace("2.5", "7.5"));
    assert!(build("2") > 0, "a header changed");
    let after = times();
    assert!(before[0] != after[0] && before[1] != after[1] && before[2] == after[2]);
}

/// By what nvcc's calls overlap, and not by time.
fn one_nvcc_at_a_time_with_one_job() {
    let package = package(
        "vendor_one_job",
        "Build::new().modules([\"kernels/half.cu\", \"kernels/called.cu\"]).compiler(Compiler::Nvcc)\
         .archs([\"sm_80\", \"sm_90\", \"compute_90\"]).compile(\"pack\")",
    );
    package.write("kernels/called.cu", CALLED);
    let (root, log) = logging_toolkit(&package.folder);
    succeed(cargo_build(&package).arg("-j1").env("CUDA_HOME", &root));
    let text = calls(&log);
    assert!(text.matches("start").count() >= 6, "{text}");
    assert!(!text.contains("start\nstart"), "two at once:\n{text}");
}

/// pip's trees, in an environment that is active.
fn a_toolkit_among_pythons_packages_is_found() {
    let build = "Build::new().file(\"kernels/half.cu\").compiler(Compiler::Nvcc).archs([\"sm_80\"]).compile(\"pack\");\n    \
                 Build::new().file(\"kernels/plain.cu\").archs([\"sm_80\"]).compile(\"by_clang\")";
    let package = package("vendor_python", build);
    package.write("kernels/plain.cu", "extern \"C\" __global__ void f(float *x) { x[threadIdx.x] *= 2.0f; }\n");
    let packages = package.folder.join("venv/lib/python3.11/site-packages/nvidia");
    fs::create_dir_all(&packages).expect("the folder can be made");
    link(&cuda_home(), &packages.join("cu13"));
    let mut command = cargo_build(&package);
    succeed(
        command
            .env_remove("CUDA_HOME")
            .env("VIRTUAL_ENV", package.folder.join("venv"))
            .env("PATH", path_without("nvcc")),
    );
    for pack in ["pack", "by_clang"] {
        assert_is_for(pack, "sm_80", &package.own_output("debug", &format!("{pack}/sm_80.cubin")));
    }
}

#[cfg(unix)]
fn link(from: &Path, to: &Path) {
    std::os::unix::fs::symlink(from, to).expect("a link can be made");
}

#[cfg(not(unix))]
fn link(_: &Path, _: &Path) {
    panic!("the toolkit's wheels are for Linux");
}

/// The folders of `PATH` that do not have this program.
fn path_without(program: &str) -> std::ffi::OsString {
    let path = env::var_os("PATH").unwrap_or_default();
    env::join_paths(env::split_paths(&path).filter(|folder| !folder.join(program).exists())).expect("a list of folders")
}

const PLAIN: &str =
    "Build::new().file(\"kernels/half.cu\").compiler(Compiler::Nvcc).archs([\"sm_80\"]).compile(\"pack\")";

fn a_toolkit_that_is_not_there() {
    let package = package("vendor_not_there", PLAIN);
    let nowhere = package.folder.join("nowhere");
    let named = fails(cargo_build(&package).env("NVCC", nowhere.join("nvcc")));
    assert_says(
        &named,
        &[&format!("NVCC names {}, which cannot be used: there is no such file", nowhere.join("nvcc").display())],
    );
    if Path::new("/usr/local/cuda").exists() || Path::new("/opt/cuda").exists() {
        return;
    }
    let mut command = cargo_build(&package);
    command
        .env("CUDA_HOME", &nowhere)
        .env("PATH", path_without("nvcc"))
        .env("HOME", &nowhere)
        .env_remove("CONDA_PREFIX");
    let cargo_home = env::var_os("CARGO_HOME").map(PathBuf::from);
    let cargo_home = cargo_home.or_else(|| Some(PathBuf::from(env::var_os("HOME")?).join(".cargo")));
    command.envs(cargo_home.map(|home| ("CARGO_HOME", home)));
    let rustup_home = env::var_os("RUSTUP_HOME").map(PathBuf::from);
    let rustup_home = rustup_home.or_else(|| Some(PathBuf::from(env::var_os("HOME")?).join(".rustup")));
    let text = fails(command.envs(rustup_home.map(|home| ("RUSTUP_HOME", home))));
    assert_says(
        &text,
        &[
            "no image for sm_80: no nvcc was found (NVCC, CUDACXX, CUDA_PATH, CUDA_ROOT and CUDA_TOOLKIT_ROOT_DIR are not set; ",
            &format!("no bin/nvcc in CUDA_HOME={}", nowhere.display()),
            "none in PATH, none in /usr/local/cuda*, /opt/cuda, none among Python's packages (nvidia/cu13/bin))",
            "to compile it: install the CUDA toolkit and set CUDA_HOME, or name nvcc in NVCC",
        ],
    );
}

fn a_toolkit_older_than_a_target() {
    let package = package("vendor_too_old", &PLAIN.replace("sm_80", "sm_80\", \"sm_199"));
    let text = fails(&mut cargo_build(&package));
    let home = cuda_home().canonicalize().expect("it is there");
    assert_says(
        &text,
        &[
            "no image for sm_199: ",
            "bin/nvcc refuses it\n",
            "Unsupported gpu architecture 'sm_199'",
            &format!("this toolkit ({}, release ", home.display()),
            "compiles for sm_75 sm_80",
        ],
    );
}

fn two_toolkits_that_disagree() {
    let package = package("vendor_disagree", PLAIN);
    // Another toolkit, as far as nvcc knows: it says where its parts are.
    let other = package.folder.join("other");
    scratch::write(
        other.join("bin/nvcc"),
        format!(
            "#!/bin/sh\ncase \"$1\" in\n--version) echo 'Cuda compilation tools, release 12.1, V12.1.105' ;;\n\
             *) echo '#$ TOP={}' >&2 ;;\nesac\n",
            other.display()
        ),
    );
    succeed(Command::new("chmod").arg("+x").arg(other.join("bin/nvcc")));
    let text = fails(cargo_build(&package).env("NVCC", other.join("bin/nvcc")));
    let home = cuda_home();
    let (other_root, root) = (other.canonicalize().expect("it is there"), home.canonicalize().expect("it is there"));
    assert_says(
        &text,
        &[
            "two CUDA toolkits are named, and it is open which is meant:\n",
            &format!("NVCC={}/bin/nvcc is of {} (release 12.1, V12.1.105)\n", other.display(), other_root.display()),
            &format!("CUDA_HOME={} is of {} (release 13.", home.display(), root.display()),
            "unset one of the two variables, or let both name the same toolkit",
        ],
    );
    // The same one by two names is one.
    let same = package.folder.join("same");
    link(&home, &same);
    succeed(cargo_build(&package).env("CUDA_PATH", &same));
}

fn nvcc_without_a_host_compiler() {
    let package = package("vendor_no_host", PLAIN);
    let text = fails(cargo_build(&package).env("NVCC_CCBIN", "/nowhere/g++"));
    assert_says(
        &text,
        &[
            "bin/nvcc needs a C++ compiler for the host: NVCC_CCBIN names /nowhere/g++, and there is no such file\n",
            "to compile it: install one (Debian, Ubuntu: apt install g++;",
        ],
    );
    let text = fails(cargo_build(&package).env("CXX", "no-such-compiler"));
    assert_says(
        &text,
        &["needs a C++ compiler for the host: no-such-compiler does not start: there is no such file\n"],
    );
}

fn what_nvcc_cannot_link() {
    let build = "Build::new().files([\"kernels/caller.cu\", \"kernels/called.cu\"]).compiler(Compiler::Nvcc)\
                 .archs([\"sm_80\", \"compute_80\"]).compile(\"pack\")";
    let package = package("vendor_link", build);
    package.write("kernels/caller.cu", CALLER).write("kernels/called.cu", CALLED);
    let text = fails(&mut cargo_build(&package));
    assert_says(
        &text,
        &[
            "for compute_80, the module \"pack\" has kernels/caller.cu and kernels/called.cu, and nvcc has no linker for PTX",
        ],
    );
}

fn nvcc_says_what_is_wrong_in_a_kernel() {
    let package = package("vendor_error", PLAIN);
    package.write("kernels/half.cu", "__global__ void f() {\n  undeclared();\n}\n");
    let text = fails(&mut cargo_build(&package));
    assert_says(&text, &["kernels/half.cu(2): error: identifier \"undeclared\" is undefined", "; the command was\n"]);
    assert_eq!(text.matches("is undefined").count(), 1, "{text}");
    // cuobjdump is what judges above.
    assert!(stdout(&succeed(cuda("cuobjdump").arg("--version"))).contains("release"));
}

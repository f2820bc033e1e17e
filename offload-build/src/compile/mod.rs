//! Builds the command lines that turn the sources into the image for one target.
//!
//! | target | each source | all of them |
//! |---|---|---|
//! | AMD | clang, to LLVM bitcode; assembly: to an object | clang, all bitcode together to an object; lld: code object |
//! | `compute_*` | clang, to LLVM bitcode | clang: PTX |
//! | `sm_*` | as above; a PTX source is used as is | as above, then ptxas: cubin |
//! | AMD and NVIDIA, from a Rust crate | Cargo, to an object or PTX | lld: code object; ptxas: cubin |
//! | `spirv64` | clang, to LLVM bitcode | clang: one module as text, then SPIR-V |
//! | NVIDIA, by nvcc | nvcc: the image, or relocatable cubins for several sources | nvlink: cubin |
//! | `cpu` | the C++ compiler, to an object; clang: to LLVM IR, which is cut into regions | the C++ compiler: shared object |
//!
//! clang first compiles OpenCL C to textual LLVM IR, in which the build replaces parameters that
//! point to shared memory with offsets. clang then compiles this IR to bitcode.
//!
//! `language.rs` lists clang's mode for each language. Sources are compiled to bitcode, not
//! objects, because bitcode allows inlining between sources, and because there is no linker for
//! PTX.

mod amdgpu;
mod before_link;
pub(crate) mod cache;
mod cpu;
mod cpu_regions;
mod cpu_variables;
mod debug_info;
mod device;
pub(crate) mod device_link;
mod extern_shared;
pub(crate) mod include_folders;
pub(crate) mod inputs;
mod intel;
pub(crate) mod lanes;
mod line;
mod nvcc;
pub(crate) mod nvcc_part;
mod nvcc_variables;
mod nvidia;
pub(crate) mod object;
mod orders;
pub(crate) mod profile;
mod regions;
mod relocatable;
pub(crate) mod rust;
mod sanitizer;
pub(crate) mod sdk;
pub(crate) mod signatures;
pub(crate) mod with_entries;

pub(crate) use self::cpu::STACK_SIZE;
pub(crate) use self::relocatable::relocatable_flag;
pub(crate) use self::sanitizer::Sanitizer;
use crate::compile::nvcc_part::NvccPart;
use crate::compile::sdk::Sdk;
use crate::output::{OutDir, image_file_name};
use crate::plan::{PlannedModule, PlannedSource};
use crate::request::Language;
use crate::targets::Target;
use crate::toolchain::cargo::{self, Cargo};
use crate::toolchain::compilers::{Identity, identity};
use crate::toolchain::exec::{HEADER_FOLDERS, OTHER_INPUTS, Step};
use crate::toolchain::read_files::named_files::NamedFiles;
use offload_format::target::Vendor;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

/// The steps that build one image or object, and the values that a later run compares. A step's
/// `after` field lists the positions in `steps` of the steps that must finish first.
#[derive(Default)]
pub(crate) struct Compilation {
    /// The prefix that the names of all the compilation's files share.
    pub(crate) stem: String,
    /// The name of the module.
    pub(crate) module: String,
    pub(crate) image: PathBuf,
    pub(crate) steps: Vec<Step>,
    /// The targets of the device code in `image`.
    pub(crate) targets: Vec<Target>,
    /// One of several nvcc calls that together make an object. `None` for other compilations.
    pub(crate) part: Option<NvccPart>,
    /// The total size of all sources in bytes, as an estimate of the work.
    pub(crate) source_bytes: u64,
    /// Sources that no dependency file lists, such as LLVM IR, assembly and PTX.
    pub(crate) sources: Vec<PathBuf>,
    /// Inputs that build.rs names in addition to the sources, either directly or in flags.
    pub(crate) named_files: Vec<PathBuf>,
    /// The header folders from build.rs and the environment, excluding the compiler's own.
    pub(crate) include_folders: Vec<PathBuf>,
    /// The tools' folders. Cargo does not watch files in them, even if a dependency file lists
    /// them, because a change of the tool already changes `identities`.
    pub(crate) tool_folders: Vec<PathBuf>,
    /// Identities of the tools, and of the vendor's headers and libraries, for the rebuild key.
    pub(crate) identities: Vec<String>,
    /// Whether the image is PTX whose version is lowered after the last step.
    pub(crate) lowers_ptx: bool,
    /// The PTX, followed by the LLVM IR whose memory orders the PTX's atomic operations must keep.
    /// For SPIR-V, only LLVM IR. Empty if there is no LLVM IR to compare with.
    ordered: Vec<PathBuf>,
    /// The steps that describe the kernels' parameters. Each emits LLVM IR for one source.
    describing: Vec<Step>,
    /// Another compilation of the same sources that describes the parameters instead, with an
    /// estimate of its work. The step with the largest estimate starts first.
    described_by: Option<(Box<Compilation>, u64)>,
    /// The files, one per source, in which the image's own compiler describes the kernels.
    checked: Vec<PathBuf>,
}

/// The values needed to create the compilation of one image or object.
#[derive(Clone, Copy)]
pub(crate) struct Compilations<'a> {
    pub(crate) module: &'a PlannedModule,
    /// The targets: exactly one for an image, one or more for an object with device code.
    pub(crate) targets: &'a [Target],
    /// The part of the compilation's file names that identifies the target, or an object's targets.
    pub(crate) file_name: &'a str,
    pub(crate) code_object_version: Option<u32>,
    pub(crate) sdk: &'a Sdk,
    pub(crate) output: &'a OutDir,
    pub(crate) cargo: &'a Cargo,
}

/// The offloading languages that clang assumes for sources: for NVIDIA's GPUs, and for all others.
const CUDA: &str = "cuda";
const HIP: &str = "hip";

impl<'a> Compilations<'a> {
    fn sources(&self) -> Vec<&'a PlannedSource> {
        self.module.sources_for(self.target())
    }

    fn target(&self) -> &'a Target {
        &self.targets[0]
    }

    /// Returns the offloading language for clang's `-x` option.
    fn dialect(&self) -> &'static str {
        if self.target().vendor() == Vendor::Nvidia { CUDA } else { HIP }
    }

    fn compilation(&self, extension: &str, tools: &[&Identity]) -> Compilation {
        let sources = self.sources();
        let mut tool_folders = self.sdk.folders.clone();
        for tool in tools {
            tool_folders.extend(resource_folder(tool));
        }
        let stem = self.module.file_stem(self.file_name);
        let mut compilation = Compilation {
            image: self.output.images.join(image_file_name(&stem, extension)),
            stem,
            module: self.module.name.clone(),
            targets: self.targets.to_vec(),
            source_bytes: sources
                .iter()
                .filter_map(|it| fs::metadata(&it.path).ok())
                .map(|it| it.len())
                .sum(),
            include_folders: vec![self.output.include()],
            tool_folders,
            identities: tool_identities(tools, &self.sdk.stands_for, self.cargo),
            ..Compilation::default()
        };
        let mut all_options = vec![&self.module.options];
        all_options.extend(sources.iter().map(|source| &source.options));
        for options in all_options {
            compilation.named_files.extend_from_slice(&options.inputs);
            compilation.add_folders(options.includes.clone(), self.cargo);
            compilation.add_flags(&options.flags_for(Some(self.target())), self.cargo);
        }
        let of_variable: Vec<&str> = self.sdk.flags_of_variable.split_whitespace().collect();
        compilation.add_flags(&of_variable, self.cargo);
        for name in HEADER_FOLDERS.iter().chain(&OTHER_INPUTS) {
            let Some(value) = self.cargo.user_var(name) else { continue };
            if HEADER_FOLDERS.contains(name) {
                compilation.add_folders(cargo::folders(&value), self.cargo);
            }
            compilation.identities.push(format!("{name}={value}"));
        }
        compilation
    }

    fn work(&self, extension: &str) -> PathBuf {
        self.output.work.join(image_file_name(&self.module.file_stem(self.file_name), extension))
    }

    /// Returns the options that include this crate's header before the first line of a source.
    fn kernel_header(&self, language: Language) -> [OsString; 4] {
        let header = match language {
            Language::Hip => "offload/hip.h",
            Language::OpenCl => "offload/opencl.h",
            _ => "offload/kernel.h",
        };
        ["-I".into(), self.output.include().into(), "-include".into(), header.into()]
    }

    fn source_args(&self, source: &PlannedSource) -> Vec<OsString> {
        let mut list: Vec<OsString> = Vec::new();
        let all = [&self.module.options, &source.options];
        if source.language.is_preprocessed() {
            for options in all {
                for folder in &options.includes {
                    list.extend(["-I".into(), folder.into()]);
                }
            }
            for options in all {
                for define in options.define_args() {
                    list.push(define.into());
                }
            }
            // `-ffile-prefix-map` keeps the paths of the package's folder and OUT_DIR out of debug
            // information and `__FILE__`. OUT_DIR's option comes last, because compilers use the
            // last matching prefix, and OUT_DIR may be in the package's folder.
            for (folder, name) in
                [(&self.cargo.manifest_dir, "."), (&self.cargo.out_dir, "OUT_DIR")]
            {
                list.push(format!("-ffile-prefix-map={}={name}", folder.display()).into());
            }
        }
        for flag in self.module.flags_for(source, self.target()) {
            list.push(flag.into());
        }
        list
    }
}

/// A `source_bytes` value larger than any build's total, so that the step starts first.
const FIRST: u64 = u64::MAX >> 16;

impl Compilation {
    /// Returns a compilation that describes the kernels' parameters instead of building the image.
    /// Returns `None` if no step describes them.
    pub(crate) fn of_signatures(&self) -> Option<Self> {
        if let Some((other, work)) = &self.described_by {
            return other.of_signatures().map(|it| Self { source_bytes: *work, ..it });
        }
        (!self.describing.is_empty()).then(|| Self {
            image: self.image.with_extension("signatures"),
            stem: format!("{}.signatures", self.stem),
            module: self.module.clone(),
            steps: self.describing.clone(),
            targets: self.targets.clone(),
            // An estimate of 0 makes this compilation start after those of all images, which
            // determine how long the build takes.
            source_bytes: 0,
            // Dependency files do not list crates from a registry, but `Cargo.lock`, one of the
            // kernel crate's sources, covers them.
            sources: if self.is_of_crate() { self.sources.clone() } else { Vec::new() },
            named_files: self.named_files.clone(),
            include_folders: self.include_folders.clone(),
            tool_folders: self.tool_folders.clone(),
            identities: self.identities.clone(),
            ..Self::default()
        })
    }

    /// Returns the files in which the image's compiler described its kernels, and the file that
    /// stores what was read from them. Returns `None` for images whose compiler describes nothing.
    pub(crate) fn cpu_descriptions(&self) -> Option<(&[PathBuf], PathBuf)> {
        let kept = self.image.with_extension("parameters");
        (!self.checked.is_empty()).then_some((&self.checked, kept))
    }

    /// Sets the compilation in which clang describes the kernels' parameters from the same sources.
    /// If `is_first`, clang starts before the image's compiler, which may take minutes. Otherwise,
    /// clang starts after it.
    pub(crate) fn described_by(&mut self, other: Self, is_first: bool) {
        self.described_by = Some((Box::new(other), if is_first { FIRST } else { 0 }));
    }

    /// Whether the compilation reads neither sources nor files that a dependency file would list.
    pub(crate) fn reads_only_objects(&self) -> bool {
        self.sources.is_empty() && self.steps.iter().all(|step| step.depfile.is_none())
    }

    /// Whether Cargo compiles a kernel crate in one of the steps.
    pub(crate) fn is_of_crate(&self) -> bool {
        self.steps.iter().any(Step::is_of_crate)
    }

    /// Adds the files and header folders that compiler flags name.
    fn add_flags(&mut self, flags: &[&str], cargo: &Cargo) {
        let named = NamedFiles::of(flags);
        self.named_files.extend(named.files);
        self.add_folders(named.include_folders, cargo);
    }

    /// Adds header folders, and tells Cargo to watch them.
    fn add_folders(&mut self, folders: Vec<PathBuf>, cargo: &Cargo) {
        folders.iter().for_each(|folder| cargo.watch_folder(folder));
        self.include_folders.extend(folders);
    }

    fn then(&mut self, step: Step) {
        let after = (0..self.steps.len()).collect();
        self.steps.push(Step { after, ..step });
    }

    /// Adds the final step, whose output is the image.
    fn last(&mut self, step: Step) {
        let step = step.output(&self.image);
        self.then(step);
    }
}

/// Returns the identities of the tools and the SDK's files for the rebuild key, and tells Cargo to
/// watch all of their files.
fn tool_identities(tools: &[&Identity], of_sdk: &[PathBuf], cargo: &Cargo) -> Vec<String> {
    let (mut identities, mut files) = (Vec::new(), Vec::new());
    for tool in tools {
        identities.push(tool.version_text.clone());
        files.extend(&tool.files);
    }
    files.extend(of_sdk.iter().filter(|file| file.is_file()));
    for file in files {
        cargo.watch(file);
        identities.push(identity(file));
    }
    identities
}

/// Returns the folder of clang's own headers, if clang reports where it is installed.
fn resource_folder(clang: &Identity) -> Option<PathBuf> {
    let folder = clang.version_text.lines().find_map(|line| line.strip_prefix("InstalledDir: "))?;
    Some(Path::new(folder).parent()?.join("lib").join("clang"))
}

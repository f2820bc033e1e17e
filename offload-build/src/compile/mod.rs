//! The command lines that make the image of one target from the sources.
//!
//! | target | each source | all of them |
//! |---|---|---|
//! | AMD | clang, to LLVM bitcode; assembly: to an object | clang, all bitcode together to an object; lld: code object |
//! | `compute_*` | clang, to LLVM bitcode | clang: PTX |
//! | `sm_*` | the same; or it is PTX | the same, then ptxas: cubin |
//! | NVIDIA, by nvcc | nvcc: the image; of several sources relocatable cubins | nvlink: cubin |
//! | `cpu` | the C++ compiler, to an object | the C++ compiler: shared object |
//!
//! `language.rs` has clang's mode for each language. Sources become bitcode and not objects so that
//! calls between them can be inlined, and because PTX has no linker.

pub(crate) mod cache;
mod cpu;
mod depfile;
pub(crate) mod device_link;
mod extern_shared;
pub(crate) mod include_folders;
pub(crate) mod inputs;
mod lookup;
mod mentions;
mod named_files;
mod nvcc;
mod nvcc_variables;
pub(crate) mod object;
pub(crate) mod profile;
mod relocatable;
pub(crate) mod retain;
pub(crate) mod sdk;
pub(crate) mod seen;
pub(crate) mod signatures;

pub(crate) use self::relocatable::relocatable_flag;
use crate::cargo::{self, Cargo};
use crate::compile::named_files::NamedFiles;
use crate::compile::profile::{DebugInfo, Profile};
use crate::compile::sdk::Sdk;
use crate::exec::{COUNTED, DepfileBy, Holds, Kind, Step};
use crate::output::{OutDir, image_file_name};
use crate::plan::{PlannedModule, PlannedSource};
use crate::request::{Headers, Recipe};
use crate::targets::{Family, Target};
use crate::toolchain::{Clang, Identity, Ptxas, identity};
use offload_format::target::{NvidiaArch, NvidiaCode, TargetId, amdgpu};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

/// The steps that make one image or object, and what a later run compares. In each step, `after`
/// contains the positions in `steps` of the steps that must end first.
#[derive(Debug)]
pub(crate) struct Compilation {
    /// The common start of the names of the compilation's files.
    pub(crate) stem: String,
    pub(crate) image: PathBuf,
    pub(crate) steps: Vec<Step>,
    /// The bytes of all sources, as an estimate of the work.
    pub(crate) source_bytes: u64,
    /// Sources that no dependency file lists, such as LLVM IR, assembly and PTX.
    pub(crate) sources: Vec<PathBuf>,
    /// Inputs that build.rs names in addition to the sources: directly, and in flags.
    pub(crate) named_files: Vec<PathBuf>,
    /// The folders for headers, without the compiler's own: those of build.rs and of the
    /// environment.
    pub(crate) include_folders: Vec<PathBuf>,
    /// Folders of tools. Cargo does not watch files in these folders, even if a dependency file
    /// lists them: `identities` changes with the tool.
    pub(crate) tool_folders: Vec<PathBuf>,
    /// Identities of the tools, and of the vendor's headers and libraries, for the rebuild key.
    pub(crate) identities: Vec<String>,
    described: Described,
    /// The steps in which the compiler of the image itself describes the parameters.
    checked: Vec<Step>,
}

/// The way to find the parameters of a compilation's kernels.
#[derive(Debug)]
enum Described {
    /// The steps that describe the parameters. Each step writes LLVM IR of one source.
    BySteps(Vec<Step>),
    /// Another compilation of the same sources, which describes the parameters.
    By(Box<Compilation>),
}

impl Default for Described {
    fn default() -> Self {
        Self::BySteps(Vec::new())
    }
}

/// The inputs from which the compilation of one image or object is made.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Compilations<'a> {
    pub(crate) module: &'a PlannedModule,
    /// The targets: one for an image, at least one for an object with device code.
    pub(crate) targets: &'a [Target],
    /// The part of the compilation's file names that depends on the target, or on the targets of an
    /// object.
    pub(crate) file_name: &'a str,
    pub(crate) code_object_version: Option<u32>,
    pub(crate) sdk: &'a Sdk,
    pub(crate) output: &'a OutDir,
    pub(crate) cargo: &'a Cargo,
}

impl<'a> Compilations<'a> {
    fn sources(&self) -> Vec<&'a PlannedSource> {
        self.module.sources_for(self.target())
    }

    fn target(&self) -> &'a Target {
        &self.targets[0]
    }

    pub(crate) fn amdgpu(&self, id: TargetId<'_>, clang: &Clang) -> Compilation {
        let target = self.target();
        let mut compilation = self.compilation("hsaco", &clang.with_lld());
        let mut offload = args(&["--no-gpu-bundle-output"]);
        offload.push(format!("--offload-arch={target}").into());
        let mut direct = args(&["--target=amdgcn-amd-amdhsa"]);
        direct.push(format!("-mcpu={target}").into());
        let mut link = direct.clone();
        // Generic targets need `-mcode-object-version`: without it, older compilers choose an
        // earlier code object version, which does not support generic targets.
        let generic = amdgpu::is_generic(id.processor()).then_some(amdgpu::FIRST_GENERIC_VERSION);
        let version = self.code_object_version.or(generic).or(self.sdk.code_object_version);
        let version =
            version.map(|version| OsString::from(format!("-mcode-object-version={version}")));
        link.extend(version.clone());
        let parts = self.compile_device(&mut compilation, clang, &offload, &direct, version);
        link.push(self.link_optimization());
        if parts.iter().any(|part| is_bitcode(part)) {
            // `-amdgpu-internalize-symbols` removes device functions that no kernel calls.
            link.extend(args(&["-nogpulib", "-mllvm", "-amdgpu-internalize-symbols"]));
        }
        link.extend(link_inputs(parts));
        compilation.last(Step::new(Kind::Link, &clang.path, link));
        compilation
    }

    pub(crate) fn ptx(&self, arch: NvidiaArch, clang: &Clang) -> Compilation {
        let mut compilation = self.compilation("ptx", &[&clang.identity]);
        let ptx = compilation.image.clone();
        self.compile_ptx(&mut compilation, arch, clang, &ptx);
        compilation
    }

    pub(crate) fn cubin(&self, arch: NvidiaArch, clang: &Clang, ptxas: &Ptxas) -> Compilation {
        let mut compilation = self.compilation("cubin", &[&clang.identity, &ptxas.identity]);
        let ptx = self.work("ptx");
        self.compile_ptx(&mut compilation, arch, clang, &ptx);
        self.assemble(&mut compilation, arch, ptxas, &ptx, &[]);
        compilation
    }

    /// Returns the compilation in which ptxas makes a cubin from a PTX source.
    pub(crate) fn cubin_of_ptx(
        &self,
        arch: NvidiaArch,
        ptxas: &Ptxas,
        source: &PlannedSource,
    ) -> Compilation {
        let mut compilation = self.compilation("cubin", &[&ptxas.identity]);
        let flags: Vec<OsString> =
            source.options.flags_for(self.target()).map(OsString::from).collect();
        self.assemble(&mut compilation, arch, ptxas, &source.path, &flags);
        compilation.sources.push(source.path.clone());
        compilation
    }

    fn assemble(
        &self,
        to: &mut Compilation,
        arch: NvidiaArch,
        ptxas: &Ptxas,
        ptx: &Path,
        flags: &[OsString],
    ) {
        let mut assemble = vec![OsString::from(format!("-arch={arch}"))];
        let sources = self.sources();
        let Profile { level, mut debug, own } = self.profile(sources[0]);
        // With an option for debug information, ptxas warns if the PTX has none. Only PTX that
        // clang compiles from source code is sure to have it. A source that is already PTX or LLVM
        // IR may lack it.
        if !sources.iter().all(|source| source.language.is_preprocessed()) {
            debug = DebugInfo::None;
        }
        // For PTX sources, `flags` contains the flags of build.rs. For other sources it is empty,
        // because clang gets the flags.
        let is_ours = |is_said: bool| flags.is_empty() || !is_said;
        let (says_level, says_debug) =
            (own.level.is_some(), own.debug.or(own.device_debug).is_some());
        let is_debugged = debug == DebugInfo::Full && level == "0";
        let asked = sources[0].options.opt_level.or(self.module.options.opt_level);
        if is_ours(says_level) {
            let level = asked.unwrap_or(if is_debugged { 0 } else { 3 });
            assemble.push(format!("-O{}", level).into());
        }
        match debug {
            _ if !is_ours(says_debug) => {}
            DebugInfo::Full if is_debugged => assemble.push("-g".into()),
            // For optimized code, ptxas supports no debug information except lines.
            DebugInfo::Full | DebugInfo::Lines => assemble.push("-lineinfo".into()),
            DebugInfo::None => {}
        }
        assemble.extend(flags.iter().cloned());
        assemble.push(ptx.into());
        to.last(Step::new(Kind::Assemble, &ptxas.path, assemble));
    }

    fn compilation(&self, extension: &str, tools: &[&Identity]) -> Compilation {
        let mut identities = tool_identities(tools, &self.sdk.stands_for, self.cargo);
        let sources = self.sources();
        let (mut named_files, mut include_folders) = (Vec::new(), vec![self.output.include()]);
        for options in
            [&self.module.options].into_iter().chain(sources.iter().map(|source| &source.options))
        {
            let named = NamedFiles::of(options.flags_for(self.target()).map(String::as_str));
            named_files.extend(options.inputs.iter().cloned().chain(named.files));
            include_folders.extend(options.includes.iter().cloned().chain(named.include_folders));
        }
        for (name, holds) in COUNTED {
            let Some(value) = self.cargo.user_var(name) else { continue };
            if holds == Holds::IncludeFolders {
                include_folders.extend(cargo::folders(&value));
            }
            identities.push(format!("{name}={value}"));
        }
        include_folders[1..].iter().for_each(|folder| self.cargo.watch_folder(folder));
        let stem = self.module.file_stem(self.file_name);
        Compilation {
            image: self.output.images.join(image_file_name(&stem, extension)),
            stem,
            steps: Vec::new(),
            source_bytes: sources
                .iter()
                .filter_map(|it| fs::metadata(&it.path).ok())
                .map(|it| it.len())
                .sum(),
            sources: Vec::new(),
            named_files,
            include_folders,
            tool_folders: self
                .sdk
                .root
                .iter()
                .cloned()
                .chain(tools.iter().filter_map(|tool| resource_folder(tool)))
                .collect(),
            identities,
            described: Described::default(),
            checked: Vec::new(),
        }
    }

    fn work(&self, extension: &str) -> PathBuf {
        self.output.work.join(image_file_name(&self.module.file_stem(self.file_name), extension))
    }

    fn compile_ptx(
        &self,
        compilation: &mut Compilation,
        arch: NvidiaArch,
        clang: &Clang,
        ptx: &Path,
    ) {
        let sm = arch.with_code(NvidiaCode::Cubin);
        let mut offload = args(&["-Wno-unknown-cuda-version"]);
        offload.push(format!("--offload-arch={sm}").into());
        let mut direct = args(&["--target=nvptx64-nvidia-cuda", "-Wno-unknown-cuda-version"]);
        direct.push(format!("-march={sm}").into());
        if let Some(version) = arch.lowest_ptx() {
            // Without this option, clang chooses the PTX version of a CUDA installation, or a
            // default version that does not fit current GPUs.
            for list in [&mut offload, &mut direct] {
                list.push(format!("--cuda-feature=+ptx{}{}", version.major, version.minor).into());
            }
        }
        let parts = self.compile_device(compilation, clang, &offload, &direct, None);
        let mut generate = direct;
        generate.extend(args(&["-nogpulib", "-S"]));
        generate.push(self.link_optimization());
        generate.extend(link_inputs(parts));
        compilation.then(Step::new(Kind::Generate, &clang.path, generate).output(ptx));
    }

    /// Adds a step for each source, and returns the files that the steps write. `offload` and
    /// `direct` are the options that select the target: `offload` for sources in CUDA or HIP mode
    /// (`--offload-arch`), `direct` for other sources (`--target`).
    fn compile_device(
        &self,
        compilation: &mut Compilation,
        clang: &Clang,
        offload: &[OsString],
        direct: &[OsString],
        version: Option<OsString>,
    ) -> Vec<PathBuf> {
        let (mut parts, mut describing) = (Vec::new(), Vec::new());
        for (index, source) in self.sources().into_iter().enumerate() {
            let is_preprocessed = source.language.is_preprocessed();
            let mut compile = Vec::new();
            let (mut recipe, mut of_build_script) =
                (source.recipe(self.target()), self.source_args(source));
            if recipe == Some(Recipe::Nvcc) {
                // nvcc makes the image of this source. clang only describes its kernels, with the
                // toolkit's headers.
                recipe = Some(Recipe::Offload("cuda", Headers::Cuda));
                of_build_script = nvcc::for_clang(of_build_script);
            }
            match recipe {
                Some(Recipe::Offload(mode, headers)) => {
                    compile.extend(args(&["-x", mode]));
                    compile.extend_from_slice(offload);
                    compile.extend(version.clone());
                    compile.extend(args(&["--cuda-device-only", "-fgpu-rdc", "-emit-llvm", "-c"]));
                    compile.extend(args(&["-std=c++17", "-fms-extensions"]));
                    // `-cuid` gives each source a separate ID that does not depend on the package's
                    // folder: clang's default ID is a hash of the full path.
                    compile.push(format!("-cuid={index}").into());
                    match headers {
                        Headers::Ours => {
                            compile.extend(args(&["-nogpuinc", "-nogpulib"]));
                            compile.extend(self.kernel_header());
                        }
                        Headers::Cuda | Headers::Rocm => {
                            compile.extend(self.sdk.args.iter().cloned())
                        }
                    }
                }
                Some(Recipe::Direct(mode, options)) => {
                    compile.extend(args(&["-x", mode, "-emit-llvm", "-c"]));
                    compile.extend_from_slice(direct);
                    compile.extend(version.clone());
                    compile.extend(options.iter().map(OsString::from));
                }
                Some(Recipe::Assemble) => {
                    compile.extend(args(&["-x", "assembler", "-c"]));
                    compile.extend_from_slice(direct);
                    compile.extend(version.clone());
                }
                other => unreachable!("the plan has looked at it: {other:?}"),
            }
            let part = if recipe == Some(Recipe::Assemble) { "o" } else { "bc" };
            let profile = self.profile(source);
            if part == "bc" {
                compile.push(format!("-O{}", profile.level).into());
            }
            let is_nvidia = self.target().family() == Family::Nvidia;
            match profile.debug {
                _ if !is_preprocessed => {}
                DebugInfo::None => {}
                DebugInfo::Full if !is_nvidia || profile.level == "0" => compile.push("-g".into()),
                // If the debug information contains more than line directives, ptxas does not
                // optimize the PTX.
                DebugInfo::Full | DebugInfo::Lines if is_nvidia => {
                    compile.push("-gline-directives-only".into())
                }
                DebugInfo::Full | DebugInfo::Lines => compile.push("-gline-tables-only".into()),
            }
            compile.extend(of_build_script);
            compile.push(source.path.clone().into());
            let out = self.work(&format!("{index}.{part}"));
            let driver_ignores = matches!(recipe, Some(Recipe::Offload("hip", _)));
            let by = DepfileBy::CompilerProper { driver_ignores, system: true };
            if is_preprocessed {
                // This command is like the one for the image, but it writes LLVM IR without
                // optimization and with full debug information.
                let mut describe = compile.clone();
                describe.extend(args(&["-S", "-g", "-w", "-Xclang", "-disable-llvm-passes"]));
                // Without this option, clang's driver omits types from the debug information of
                // optimized code for NVIDIA's GPUs.
                describe.extend(args(&["--cuda-noopt-device-debug"]));
                // Without this option, clang omits the members of classes whose constructors or
                // virtual functions another source defines.
                describe.extend(args(&["-fstandalone-debug"]));
                let step = Step::new(Kind::Describe { may_fail: false }, &clang.path, describe)
                    .output(&self.work(&format!("{index}.ll")));
                describing.push(step.depfile(self.work(&format!("{index}.ll.d")), by));
            }
            let step = Step::new(Kind::Compile, &clang.path, compile).output(&out);
            compilation.steps.push(if is_preprocessed {
                step.depfile(self.work(&format!("{index}.d")), by)
            } else {
                compilation.sources.push(source.path.clone());
                step
            });
            parts.push(out);
        }
        compilation.described = Described::BySteps(describing);
        parts
    }

    /// Returns the options that include this crate's header before the first line of a source.
    fn kernel_header(&self) -> [OsString; 4] {
        ["-I".into(), self.output.include().into(), "-include".into(), "offload/kernel.h".into()]
    }

    /// Returns the options that build.rs has for this source.
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
                list.extend(options.define_args().map(OsString::from));
            }
            // With `-ffile-prefix-map`, debug information and `__FILE__` do not depend on the
            // folders of the package and of OUT_DIR. OUT_DIR may be in the package's folder, so its
            // option comes last: compilers use the last prefix that fits.
            for (folder, name) in
                [(&self.cargo.manifest_dir, "."), (&self.cargo.out_dir, "OUT_DIR")]
            {
                list.push(format!("-ffile-prefix-map={}={name}", folder.display()).into());
            }
        }
        for options in all {
            list.extend(options.flags_for(self.target()).map(OsString::from));
        }
        list
    }

    /// Returns the optimization option for the step that makes one object from all sources: it has
    /// the level of the first source.
    fn link_optimization(&self) -> OsString {
        format!("-O{}", self.profile(self.sources()[0]).level).into()
    }
}

impl Compilation {
    /// Returns a compilation that makes a description of the kernels' parameters instead of the
    /// image. Returns `None` if no step makes a description.
    pub(crate) fn of_signatures(&self) -> Option<Self> {
        match &self.described {
            Described::BySteps(steps) => self.describing(steps, "signatures"),
            Described::By(other) => other.of_signatures(),
        }
    }

    /// Returns a compilation in which the compiler of the image describes the kernels' parameters.
    /// Returns `None` if no step makes a description.
    pub(crate) fn of_own_signatures(&self) -> Option<Self> {
        self.describing(&self.checked, "parameters")
    }

    fn describing(&self, steps: &[Step], extension: &str) -> Option<Self> {
        (!steps.is_empty()).then(|| Self {
            image: self.image.with_extension(extension),
            stem: format!("{}.{extension}", self.stem),
            steps: steps.to_owned(),
            // `source_bytes` is the estimate of the work. With 0, this compilation starts after
            // those of all images, which determine how long the build takes.
            source_bytes: 0,
            sources: Vec::new(),
            named_files: self.named_files.clone(),
            include_folders: self.include_folders.clone(),
            tool_folders: self.tool_folders.clone(),
            identities: self.identities.clone(),
            described: Described::default(),
            checked: Vec::new(),
        })
    }

    /// Lets the other compilation, in which clang compiles the same sources, describe the kernels'
    /// parameters.
    pub(crate) fn described_by(&mut self, other: Self) {
        self.described = Described::By(Box::new(other));
    }

    /// Whether the compilation reads neither a source nor a file that a dependency file would list.
    fn reads_only_objects(&self) -> bool {
        self.sources.is_empty() && self.steps.iter().all(|step| step.depfile.is_none())
    }

    /// Adds a step that runs after all earlier steps.
    fn then(&mut self, step: Step) {
        let after = (0..self.steps.len()).collect();
        self.steps.push(Step { after, ..step });
    }

    /// Adds the step that makes the image.
    fn last(&mut self, step: Step) {
        let step = step.output(&self.image);
        self.then(step);
    }
}

/// Returns identities for the rebuild key: of tools, and of the files of an SDK. Also makes Cargo
/// watch all of these files.
fn tool_identities(tools: &[&Identity], of_sdk: &[PathBuf], cargo: &Cargo) -> Vec<String> {
    let of_sdk = of_sdk.iter().filter(|file| file.is_file());
    let mut identities: Vec<String> = tools.iter().map(|tool| tool.said.clone()).collect();
    for file in tools.iter().flat_map(|tool| &tool.files).chain(of_sdk) {
        cargo.watch(file);
        identities.push(identity(file));
    }
    identities
}

/// Returns the folder of clang's own headers, if clang reports where it is installed.
fn resource_folder(clang: &Identity) -> Option<PathBuf> {
    let folder = clang.said.lines().find_map(|line| line.strip_prefix("InstalledDir: "))?;
    Some(Path::new(folder).parent()?.join("lib").join("clang"))
}

/// Returns the arguments with which clang makes one object from the outputs of all sources. Bitcode
/// is linked before code is generated, so that calls are inlined, and AMD's code objects have one
/// note with all kernels. (Runtimes read only the first note.)
fn link_inputs(parts: Vec<PathBuf>) -> Vec<OsString> {
    let (bitcode, objects): (Vec<PathBuf>, Vec<PathBuf>) =
        parts.into_iter().partition(|part| is_bitcode(part));
    let mut list = Vec::new();
    for other in bitcode.iter().skip(1) {
        list.extend(args(&["-Xclang", "-mlink-bitcode-file", "-Xclang"]));
        list.push(other.into());
    }
    list.extend(bitcode.iter().take(1).chain(&objects).map(OsString::from));
    list
}

fn is_bitcode(part: &Path) -> bool {
    part.extension().is_some_and(|extension| extension == "bc")
}

fn args(list: &[&str]) -> Vec<OsString> {
    list.iter().map(OsString::from).collect()
}

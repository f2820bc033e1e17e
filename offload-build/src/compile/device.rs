//! Command lines of clang, lld and ptxas that make the image of one target: each recipe of a source
//! as one expression, and the steps after it.

use super::line::Line;
use super::profile::{DebugInfo, Profile};
use super::{Compilation, Compilations, Described, nvcc};
use crate::exec::{DepfileBy, Kind, Step};
use crate::plan::PlannedSource;
use crate::request::{Dialect, Headers, Recipe};
use crate::toolchain::{Clang, Ptxas};
use offload_format::target::{NvidiaArch, NvidiaCode, TargetId, Vendor, amdgpu};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The options of clang that select a target.
struct Device {
    /// For sources in the CUDA or HIP dialect (`--offload-arch`).
    offload: Line,
    /// For other sources, and for linking (`--target`).
    direct: Line,
    /// The option for the code object version.
    version: Option<OsString>,
}

impl Compilations<'_> {
    pub(crate) fn amdgpu(&self, id: TargetId<'_>, clang: &Clang) -> Compilation {
        let mut compilation = self.compilation("hsaco", &clang.with_lld());
        let target = self.target();
        // Generic targets need `-mcode-object-version`: without it, older compilers choose an
        // earlier code object version, which does not support generic targets.
        let generic = amdgpu::is_generic(id.processor()).then_some(amdgpu::FIRST_GENERIC_VERSION);
        let version = self.code_object_version.or(generic).or(self.sdk.code_object_version);
        let device = Device {
            offload: Line::of(&["--no-gpu-bundle-output"]).one(format!("--offload-arch={target}")),
            direct: Line::of(&["--target=amdgcn-amd-amdhsa"]).one(format!("-mcpu={target}")),
            version: version.map(|version| format!("-mcode-object-version={version}").into()),
        };
        let parts = self.compile_device(&mut compilation, clang, &device);
        // `-amdgpu-internalize-symbols` removes device functions that no kernel calls.
        let internalize = ["-nogpulib", "-mllvm", "-amdgpu-internalize-symbols"];
        let link = device
            .direct
            .all(device.version)
            .one(self.link_optimization())
            .when(parts.iter().any(|part| is_bitcode(part)), &internalize)
            .all(link_inputs(parts));
        compilation.last(Step::new(Kind::Link, &clang.path, link.done()));
        compilation
    }

    pub(crate) fn spirv(&self, clang: &Clang) -> Compilation {
        let mut compilation = self.compilation("spv", &[&clang.identity]);
        let device = Device {
            offload: Line::of(&["--offload=spirv64"]),
            direct: Line::of(&["--target=spirv64-unknown-unknown"]),
            version: None,
        };
        let parts = self.compile_device(&mut compilation, clang, &device);
        let generate = device
            .direct
            .words(&["-nogpulib", "-c", "-Wno-override-module"])
            .one(self.link_optimization())
            .all(link_inputs(parts));
        compilation.last(Step::new(Kind::Generate, &clang.path, generate.done()));
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
        self.assemble(&mut compilation, arch, ptxas, &ptx, Vec::new());
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
        let flags = source.options.flags_for(self.target()).map(OsString::from).collect();
        self.assemble(&mut compilation, arch, ptxas, &source.path, flags);
        compilation.sources.push(source.path.clone());
        compilation
    }

    /// Adds the step in which ptxas makes the image. For PTX sources, `flags` contains the flags of
    /// build.rs; for other sources it is empty, because clang gets the flags.
    fn assemble(
        &self,
        to: &mut Compilation,
        arch: NvidiaArch,
        ptxas: &Ptxas,
        ptx: &Path,
        flags: Vec<OsString>,
    ) {
        let sources = self.sources();
        let Profile { mut debug, level, own } = self.profile(sources[0]);
        // With an option for debug information, ptxas warns if the PTX has none. Only PTX that
        // clang compiles from source code is sure to have it. A source that is already PTX or LLVM
        // IR may lack it.
        if !sources.iter().all(|source| source.language.is_preprocessed()) {
            debug = DebugInfo::None;
        }
        let is_debugged = debug == DebugInfo::Full && level == "0";
        let asked = sources[0].options.opt_level.or(self.module.options.opt_level);
        let level = asked.unwrap_or(if is_debugged { 0 } else { 3 });
        let is_ours = |is_said: bool| flags.is_empty() || !is_said;
        let debug_option: &[&str] = match debug {
            _ if !is_ours(own.debug.or(own.device_debug).is_some()) => &[],
            DebugInfo::Full if is_debugged => &["-g"],
            // For optimized code, ptxas supports no debug information except lines.
            DebugInfo::Full | DebugInfo::Lines => &["-lineinfo"],
            DebugInfo::None => &[],
        };
        let assemble = Line::default()
            .one(format!("-arch={arch}"))
            .when(is_ours(own.level.is_some()), &[&format!("-O{level}")])
            .words(debug_option)
            .all(flags)
            .one(ptx);
        to.last(Step::new(Kind::Assemble, &ptxas.path, assemble.done()));
    }

    fn compile_ptx(
        &self,
        compilation: &mut Compilation,
        arch: NvidiaArch,
        clang: &Clang,
        ptx: &Path,
    ) {
        let sm = arch.with_code(NvidiaCode::Cubin);
        // Without this option, clang chooses the PTX version of a CUDA installation, or a default
        // version that does not fit current GPUs.
        let version = arch.lowest_ptx().map(|version| {
            OsString::from(format!("--cuda-feature=+ptx{}{}", version.major, version.minor))
        });
        let device = Device {
            offload: Line::of(&["-Wno-unknown-cuda-version"])
                .one(format!("--offload-arch={sm}"))
                .all(version.clone()),
            direct: Line::of(&["--target=nvptx64-nvidia-cuda", "-Wno-unknown-cuda-version"])
                .one(format!("-march={sm}"))
                .all(version),
            version: None,
        };
        let parts = self.compile_device(compilation, clang, &device);
        let generate = device
            .direct
            .words(&["-nogpulib", "-S"])
            .one(self.link_optimization())
            .all(link_inputs(parts));
        compilation.then(Step::new(Kind::Generate, &clang.path, generate.done()).output(ptx));
    }

    /// Adds a step for each source, and returns the files that the steps write.
    fn compile_device(
        &self,
        compilation: &mut Compilation,
        clang: &Clang,
        device: &Device,
    ) -> Vec<PathBuf> {
        let (mut parts, mut describing) = (Vec::new(), Vec::new());
        for (index, source) in self.sources().into_iter().enumerate() {
            let is_preprocessed = source.language.is_preprocessed();
            let (mut recipe, mut of_build_script) =
                (source.recipe(self.target()), self.source_args(source));
            let is_by_nvcc = recipe == Some(Recipe::Nvcc);
            if is_by_nvcc {
                // nvcc makes the image of this source. clang only describes its kernels, with the
                // toolkit's headers.
                recipe = Some(Recipe::Offload(Dialect::Cuda, Headers::Cuda));
                of_build_script = nvcc::for_clang(of_build_script);
            }
            let part = if recipe == Some(Recipe::Assemble) { "o" } else { "bc" };
            let profile = self.profile(source);
            let compile = self
                .start(recipe, index, device)
                .when(part == "bc", &[&format!("-O{}", profile.level)])
                .words(if is_preprocessed { self.debug_option(&profile) } else { &[] })
                .all(of_build_script)
                .one(&source.path);
            let driver_ignores = matches!(recipe, Some(Recipe::Offload(Dialect::Hip, _)));
            let by = DepfileBy::CompilerProper { driver_ignores, system: true };
            if is_preprocessed {
                // This command is like the one for the image, but it writes LLVM IR without
                // optimization and with full debug information.
                let describe = compile
                    .clone()
                    .words(&["-S", "-g", "-w", "-Xclang", "-disable-llvm-passes"])
                    // Without this option, clang's driver omits types from the debug information
                    // of optimized code for NVIDIA's GPUs.
                    .words(&["--cuda-noopt-device-debug"])
                    // Without this option, clang omits the members of classes whose constructors
                    // or virtual functions another source defines.
                    .words(&["-fstandalone-debug"]);
                let kind = Kind::Describe { may_fail: is_by_nvcc };
                let step = Step::new(kind, &clang.path, describe.done())
                    .output(&self.work(&format!("{index}.ll")));
                describing.push(step.depfile(self.work(&format!("{index}.ll.d")), by));
            }
            let out = self.work(&format!("{index}.{part}"));
            let step = Step::new(Kind::Compile, &clang.path, compile.done()).output(&out);
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

    /// Returns the start of clang's command line for the source with this index: the language, the
    /// target, and the headers.
    fn start(&self, recipe: Option<Recipe>, index: usize, device: &Device) -> Line {
        let Device { offload, direct, version } = device;
        match recipe {
            Some(Recipe::Offload(dialect, headers)) => {
                let line = Line::of(&["-x", dialect.name()])
                    .line(offload)
                    .all(version.clone())
                    .words(&["--cuda-device-only", "-fgpu-rdc", "-emit-llvm", "-c"])
                    .words(&["-std=c++17", "-fms-extensions"])
                    // `-cuid` gives each source a separate ID that does not depend on the
                    // package's folder: clang's default ID is a hash of the full path.
                    .one(format!("-cuid={index}"));
                match headers {
                    Headers::Ours => {
                        line.words(&["-nogpuinc", "-nogpulib"]).all(self.kernel_header())
                    }
                    Headers::Cuda | Headers::Rocm => line.all(self.sdk.args.iter().cloned()),
                }
            }
            Some(Recipe::Direct(mode, options)) => Line::of(&["-x", mode, "-emit-llvm", "-c"])
                .line(direct)
                .all(version.clone())
                .words(options),
            Some(Recipe::Assemble) => {
                Line::of(&["-x", "assembler", "-c"]).line(direct).all(version.clone())
            }
            other => unreachable!("the plan has looked at it: {other:?}"),
        }
    }

    /// Returns clang's option for the debug information of a source.
    fn debug_option(&self, profile: &Profile) -> &'static [&'static str] {
        let is_nvidia = self.target().vendor() == Vendor::Nvidia;
        match profile.debug {
            DebugInfo::None => &[],
            DebugInfo::Full if !is_nvidia || profile.level == "0" => &["-g"],
            // If the debug information contains more than line directives, ptxas does not optimize
            // the PTX.
            DebugInfo::Full | DebugInfo::Lines if is_nvidia => &["-gline-directives-only"],
            DebugInfo::Full | DebugInfo::Lines => &["-gline-tables-only"],
        }
    }

    /// Returns the optimization option for the step that makes one object from all sources: it has
    /// the level of the first source.
    fn link_optimization(&self) -> OsString {
        format!("-O{}", self.profile(self.sources()[0]).level).into()
    }
}

/// Returns the arguments with which clang makes one object from the outputs of all sources. Bitcode
/// is linked before code is generated, so that calls are inlined, and AMD's code objects have one
/// note with all kernels. (Runtimes read only the first note.)
fn link_inputs(parts: Vec<PathBuf>) -> Vec<OsString> {
    let (bitcode, objects): (Vec<PathBuf>, Vec<PathBuf>) =
        parts.into_iter().partition(|part| is_bitcode(part));
    let line = bitcode.iter().skip(1).fold(Line::default(), |line, other| {
        line.words(&["-Xclang", "-mlink-bitcode-file", "-Xclang"]).one(other)
    });
    line.all(bitcode.iter().take(1).chain(&objects).map(OsString::from)).done()
}

fn is_bitcode(part: &Path) -> bool {
    part.extension().is_some_and(|extension| extension == "bc")
}

//! Builds the clang command lines that compile sources for a GPU. Each recipe for a source is one
//! expression. The later steps are in the vendor's file (`amdgpu.rs`, `nvidia.rs` or `intel.rs`).

use super::lanes;
use super::line::Line;
use super::profile::{DebugInfo, Profile};
use super::{Compilation, Compilations, HIP, nvcc};
use crate::compile::debug_info::kernels::with_offsets;
use crate::request::{Headers, Language, Recipe};
use crate::toolchain::compilers::Clang;
use crate::toolchain::exec::{DepfileBy, Step, StepKind};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

/// clang's options for unoptimized LLVM IR with parameter names.
const WITH_NAMES: &[&str] = &["-fno-discard-value-names", "-Xclang", "-disable-llvm-passes"];

pub(super) struct Device {
    /// The options for sources in the CUDA or HIP dialect (`--offload-arch`).
    pub(super) offload: Line,
    /// The options for other sources, and for linking (`--target`).
    pub(super) direct: Line,
    /// The option for the code object version.
    pub(super) version: Option<OsString>,
    /// Additional options for describing this target's kernels.
    pub(super) describe: &'static [&'static str],
    /// Additional options for sources with this crate's header.
    pub(super) without_sdk: &'static [&'static str],
    /// Whether the code is for ptxas, which does not optimize PTX whose debug information contains
    /// more than line directives.
    pub(super) is_for_ptxas: bool,
    /// Whether a warp has 64 lanes unless an option in build.rs changes the number.
    pub(super) has_64_lanes: bool,
}

impl Compilations<'_> {
    /// Adds a step for each source, and returns the steps' output files.
    pub(super) fn compile_device(
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
                // nvcc compiles this source for the image. clang only describes the kernels, using
                // the toolkit's headers.
                recipe = Some(Recipe::Offload(Headers::Cuda));
                of_build_script = nvcc::for_clang(of_build_script);
            }
            let part = if recipe == Some(Recipe::Assemble) { "o" } else { "bc" };
            let profile = self.profile(source);
            let warnings = match recipe {
                Some(Recipe::Offload(Headers::Ours)) => {
                    lanes::warnings_of_gpu(device.has_64_lanes, &of_build_script)
                }
                _ => &[],
            };
            let compile = self
                .start(source.language, recipe, index, device)
                .words(warnings)
                .when(part == "bc", &[&format!("-O{}", profile.level)])
                .words(if is_preprocessed { device.debug_option(&profile) } else { &[] })
                .all(of_build_script)
                .one(&source.path);
            let is_offload = matches!(recipe, Some(Recipe::Offload(_)));
            let driver_ignores = is_offload && self.dialect() == HIP;
            let by = DepfileBy::CompilerProper { driver_ignores, system: true };
            if is_preprocessed {
                // This is the command for the image, except that it emits unoptimized LLVM IR with
                // full debug information.
                let describe = compile
                    .clone()
                    .words(&["-S", "-g", "-w", "-Xclang", "-disable-llvm-passes"])
                    // Without this option, clang's driver omits types from the debug information
                    // of optimized code for NVIDIA's GPUs.
                    .words(&["--cuda-noopt-device-debug"])
                    // Without this option, clang omits the members of classes whose constructors
                    // or virtual functions another source defines.
                    .words(&["-fstandalone-debug"])
                    .words(device.describe);
                let kind = StepKind::Describe { may_fail: is_by_nvcc };
                let step = Step::new(kind, &clang.path, describe.done())
                    .output(&self.work(&format!("{index}.ll")));
                describing.push(step.depfile(self.work(&format!("{index}.ll.d")), by));
            }
            let out = self.work(&format!("{index}.{part}"));
            // In OpenCL C, a parameter may point to shared memory, but no launch passes such a
            // pointer.
            let has_pointers = source.language == Language::OpenCl;
            let written = has_pointers.then(|| self.work(&format!("{index}.pointers.ll")));
            let line = compile.clone().words(if has_pointers { WITH_NAMES } else { &[] });
            let step = Step::new(StepKind::Compile, &clang.path, line.done());
            let step = step.output(written.as_ref().unwrap_or(&out));
            let step = lanes::show(step, warnings);
            compilation.steps.push(if is_preprocessed {
                step.depfile(self.work(&format!("{index}.d")), by)
            } else {
                compilation.sources.push(source.path.clone());
                step
            });
            if let Some(written) = written {
                let changed = self.work(&format!("{index}.offsets.ll"));
                let line = Line::of(&["-x", "ir", "-emit-llvm", "-c"])
                    .line(&device.direct)
                    .all(device.version.clone())
                    .words(&["-nogpulib", "-Wno-override-module"])
                    .one(format!("-O{}", profile.level))
                    .one(&changed);
                let step = Step::new(StepKind::Generate, &clang.path, line.done()).output(&out);
                let after = vec![compilation.steps.len() - 1];
                let step = step.prepare(move || {
                    // If reading or writing fails, clang reports the missing file.
                    if let Ok(ir) = fs::read_to_string(&written) {
                        let _ = fs::write(&changed, with_offsets(&ir));
                    }
                });
                compilation.steps.push(Step { after, ..step });
            }
            if device.is_for_ptxas && matches!(recipe, Some(Recipe::Direct(..))) {
                let ir = self.work(&format!("{index}.ordered.ll"));
                // Optimize, because otherwise, a function that takes the order as a parameter
                // contains all orders.
                let line = compile.words(&["-S", "-O2", "-w"]).done();
                let kind = StepKind::Describe { may_fail: false };
                compilation.then(Step::new(kind, &clang.path, line).output(&ir));
                compilation.ordered.push(ir);
            } else if device.is_for_ptxas && is_preprocessed && !is_by_nvcc {
                // The unoptimized IR suffices, because the header's functions that take the order
                // as a parameter use none of the compiler's atomic operations.
                compilation.ordered.push(self.work(&format!("{index}.ll")));
            }
            parts.push(out);
        }
        compilation.describing = describing;
        parts
    }

    /// Returns the start of clang's command line for the source with this index: the language, the
    /// target, and the headers.
    fn start(
        &self,
        language: Language,
        recipe: Option<Recipe>,
        index: usize,
        device: &Device,
    ) -> Line {
        let Device { offload, direct, version, .. } = device;
        match recipe {
            Some(Recipe::Offload(headers)) => {
                let line = Line::of(&["-x", self.dialect()])
                    .line(offload)
                    .all(version.clone())
                    .words(&["--cuda-device-only", "-fgpu-rdc", "-emit-llvm", "-c"])
                    .words(&["-std=c++17", "-Wno-error=register", "-fms-extensions"])
                    // `-cuid` gives each source a separate ID that does not depend on the package's
                    // folder. clang's default ID is a hash of the full path.
                    .one(format!("-cuid={index}"));
                match headers {
                    Headers::Ours => line
                        .words(&["-nogpuinc", "-nogpulib"])
                        .words(device.without_sdk)
                        .all(self.kernel_header(language)),
                    Headers::Cuda | Headers::Rocm => line.all(self.sdk.args.iter().cloned()),
                }
            }
            Some(Recipe::Direct(mode, options)) => {
                let is_text = language == Language::OpenCl;
                let line = Line::of(&["-x", mode, "-emit-llvm", if is_text { "-S" } else { "-c" }])
                    .line(direct)
                    .all(version.clone())
                    .words(options);
                if is_text { line.all(self.kernel_header(language)) } else { line }
            }
            Some(Recipe::Assemble) => {
                Line::of(&["-x", "assembler", "-c"]).line(direct).all(version.clone())
            }
            other => unreachable!("planning rejects this recipe: {other:?}"),
        }
    }

    /// Returns the optimization option for the step that combines all sources: the first source's
    /// level.
    pub(super) fn link_optimization(&self) -> OsString {
        format!("-O{}", self.profile(self.sources()[0]).level).into()
    }
}

impl Device {
    fn debug_option(&self, profile: &Profile) -> &'static [&'static str] {
        match profile.debug {
            DebugInfo::None => &[],
            DebugInfo::Full if !self.is_for_ptxas || profile.level == "0" => &["-g"],
            DebugInfo::Full | DebugInfo::Lines if self.is_for_ptxas => &["-gline-directives-only"],
            DebugInfo::Full | DebugInfo::Lines => &["-gline-tables-only"],
        }
    }
}

/// Returns the arguments that make clang link the outputs of all sources into one object.
///
/// clang links bitcode before it generates code, so it inlines calls between sources, and AMD's
/// code objects contain a single note with all kernels. (Runtimes read only the first note.)
pub(super) fn link_inputs(parts: Vec<PathBuf>) -> Vec<OsString> {
    let (bitcode, objects): (Vec<PathBuf>, Vec<PathBuf>) =
        parts.into_iter().partition(|part| is_bitcode(part));
    let line = bitcode.iter().skip(1).fold(Line::default(), |line, other| {
        line.words(&["-Xclang", "-mlink-bitcode-file", "-Xclang"]).one(other)
    });
    line.all(bitcode.iter().take(1).chain(&objects).map(OsString::from)).done()
}

pub(super) fn is_bitcode(part: &Path) -> bool {
    part.extension().is_some_and(|extension| extension == "bc")
}

//! Builds the clang and ptxas command lines for PTX and machine code for NVIDIA's GPUs.

use super::device::{Device, link_inputs};
use super::line::Line;
use super::profile::{DebugInfo, Profile};
use super::{Compilation, Compilations};
use crate::plan::PlannedSource;
use crate::toolchain::compilers::{Clang, Ptxas};
use crate::toolchain::exec::{Step, StepKind};
use offload_format::target::{NvidiaArch, NvidiaCode};
use std::ffi::OsString;
use std::path::Path;

impl Compilations<'_> {
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

    pub(crate) fn cubin_of_ptx(
        &self,
        arch: NvidiaArch,
        ptxas: &Ptxas,
        source: &PlannedSource,
    ) -> Compilation {
        let mut compilation = self.compilation("cubin", &[&ptxas.identity]);
        let flags = self.module.flags_for(source, self.target()).into_iter().map(OsString::from);
        self.assemble(&mut compilation, arch, ptxas, &source.path, flags.collect());
        compilation.sources.push(source.path.clone());
        compilation
    }

    /// Adds the ptxas step, whose output is the image. For PTX sources, `flags` contains build.rs's
    /// flags. For other sources, it is empty, because those flags go to clang.
    pub(super) fn assemble(
        &self,
        to: &mut Compilation,
        arch: NvidiaArch,
        ptxas: &Ptxas,
        ptx: &Path,
        flags: Vec<OsString>,
    ) {
        let sources = self.sources();
        let Profile { mut debug, level, set_by_flags } = self.profile(sources[0]);
        // With an option for debug information, ptxas warns if the PTX has none. PTX compiled from
        // source code always has some, but PTX and LLVM IR sources may not.
        if !sources.iter().all(|source| source.language.is_preprocessed()) {
            debug = DebugInfo::None;
        }
        let is_debugged = debug == DebugInfo::Full && level == "0";
        let asked = sources[0].options.opt_level.or(self.module.options.opt_level);
        let level = asked.unwrap_or(if is_debugged { 0 } else { 3 });
        let is_ours = |is_set: bool| flags.is_empty() || !is_set;
        let debug_option: &[&str] = match debug {
            _ if !is_ours(set_by_flags.debug.or(set_by_flags.device_debug).is_some()) => &[],
            DebugInfo::Full if is_debugged => &["-g"],
            // For optimized code, ptxas supports only line information.
            DebugInfo::Full | DebugInfo::Lines => &["-lineinfo"],
            DebugInfo::None => &[],
        };
        let assemble = Line::default()
            .one(format!("-arch={arch}"))
            .when(is_ours(set_by_flags.level.is_some()), &[&format!("-O{level}")])
            .words(debug_option)
            .all(flags)
            .one(ptx);
        to.last(Step::new(StepKind::Assemble, &ptxas.path, assemble.done()));
    }

    fn compile_ptx(
        &self,
        compilation: &mut Compilation,
        arch: NvidiaArch,
        clang: &Clang,
        ptx: &Path,
    ) {
        let sm = arch.with_code(NvidiaCode::Cubin);
        // Without this option, clang uses the PTX version of a CUDA installation, or a default
        // version that does not support current GPUs.
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
            describe: &[],
            without_sdk: &[],
            is_for_ptxas: true,
            has_64_lanes: false,
        };
        let parts = self.compile_device(compilation, clang, &device);
        if !compilation.ordered.is_empty() {
            compilation.ordered.insert(0, ptx.to_owned());
        }
        let generate = device
            .direct
            .words(&["-nogpulib", "-S"])
            .one(self.link_optimization())
            .all(link_inputs(parts));
        compilation.then(Step::new(StepKind::Generate, &clang.path, generate.done()).output(ptx));
    }
}

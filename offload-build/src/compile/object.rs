//! Builds objects that hold host and device code, using clang. nvcc's objects share some of the
//! functions.
//!
//! | | compilations | repeated when the targets change |
//! |---|---|---|
//! | each source alone | one for each target, then one of the host part with the fat binary of all targets | the host part |
//! | with a device link | one of the source for all targets | all |
//!
//! The functions are `#[inline]`, so only build scripts that make static libraries compile them.

use super::line::Line;
use super::profile::DebugInfo;
use super::{CUDA, Compilation, Compilations, HIP};
use crate::plan::PlannedSource;
use crate::targets::Target;
use crate::toolchain::compilers::{Clang, Identity, Nvcc, identity};
use crate::toolchain::exec::{DepfileBy, Step, StepKind, plain_path};
use crate::toolchain::{ContentHash, Error};
use offload_format::target::NvidiaCode;
use std::ffi::OsString;
use std::path::Path;

/// An object's device code for one target: its file, and the hash of the file's bytes.
pub(crate) struct DeviceImage<'a> {
    pub(crate) target: &'a Target,
    pub(crate) path: &'a Path,
    pub(crate) hash: ContentHash,
}

impl<'a> Compilations<'a> {
    /// Returns clang's compilation of a source to a relocatable object with the host code and the
    /// device code for all targets.
    #[inline]
    pub(crate) fn relocatable_object(&self, clang: &Clang) -> Result<Compilation, Error> {
        let mut compilation = self.compilation("o", &self.device_tools(clang));
        let source = self.source_for_all()?;
        // Without `--offload-new-driver`, older clangs use their old offloading driver, and no
        // linker can extract the device code from that driver's objects.
        let common = self.offload_args(source).words(&["--offload-new-driver", "-fgpu-rdc"]);
        let compile = common
            .clone()
            .all(self.host_args())
            .all(self.targets.iter().filter_map(offload_arch))
            .one(self.cuid(source))
            .one(&source.path);
        let step = Step::new(StepKind::Compile, &clang.path, compile.done());
        compilation.last(step.depfile(self.work("d"), DepfileBy::Driver));

        // The dependency file lists only the host part's includes, because clang writes none for
        // the device parts. A separate step per target lists the device part's includes.
        for (index, target) in self.targets.iter().enumerate() {
            let scan = common
                .clone()
                .words(&["-Qunused-arguments", "--cuda-device-only", "-E", "-Xclang", "-Eonly"])
                .all(offload_arch(target))
                .one(&source.path);
            let step = Step::new(StepKind::Scan, &clang.path, scan.done());
            let depfile = self.work(&format!("{index}.d"));
            compilation.steps.push(step.depfile(depfile, self.by_compiler_proper()));
        }
        Ok(compilation)
    }

    /// Returns the compilation of a source's device code for one target: a code object, a cubin or
    /// PTX.
    #[inline]
    pub(crate) fn device_code(&self, clang: &Clang) -> Result<Compilation, Error> {
        let arch = self.target().arch();
        let kind = if arch.is_ptx() { "-S" } else { "-c" };
        let mut compilation = self.compilation(arch.extension(), &self.device_tools(clang));
        let source = self.source_for_all()?;
        let compile = self
            .offload_args(source)
            // `-Qunused-arguments` suppresses warnings about host-only options such as -mavx2.
            .words(&["-Qunused-arguments", "--cuda-device-only", kind])
            .when(self.dialect() == HIP, &["--no-gpu-bundle-output"])
            .all(offload_arch(self.target()))
            .one(self.cuid(source))
            .one(&source.path);
        let step = Step::new(StepKind::Compile, &clang.path, compile.done());
        compilation.last(step.depfile(self.work("d"), self.by_compiler_proper()));
        Ok(compilation)
    }

    /// Returns the compilation of a source's host part to an object that embeds `images`, the
    /// device code for each target in the order of the targets. For CUDA, the toolkit first packs
    /// the device code into a fat binary. For HIP, the bundle already exists.
    #[inline]
    pub(crate) fn host_object(
        &self,
        clang: &Clang,
        images: &[DeviceImage<'_>],
        fat_binary: FatBinary<'_>,
    ) -> Result<Compilation, Error> {
        let mut compilation = self.compilation("o", &[&clang.identity]);
        let source = self.source_for_all()?;
        compilation.identities.extend(images.iter().map(|it| it.hash.to_string()));
        let path = match fat_binary {
            FatBinary::Bundle(path) => path.to_owned(),
            FatBinary::By(toolkit) => {
                let (path, program) = (self.work("fatbin"), toolkit.program("fatbinary"));
                compilation.identities.push(identity(&program));
                let create = images.iter().filter_map(image_option).fold(
                    Line::of(&["-64"]).one(format!("--create={}", path.display())),
                    Line::one,
                );
                let step = Step::new(StepKind::Link, &program, create.done());
                compilation.then(Step { output: Some(path.clone()), ..step });
                path
            }
        };
        let compile = self
            .offload_args(source)
            .all(self.host_args())
            .words(&["--cuda-host-only"])
            .all(self.targets.iter().filter_map(offload_arch))
            .words(&["-Xclang", "-fcuda-include-gpubinary", "-Xclang"])
            .one(path)
            .one(self.cuid(source))
            // Without this option, clang warns about device-only options.
            .words(&["-Qunused-arguments"])
            .one(&source.path);
        let step = Step::new(StepKind::Generate, &clang.path, compile.done());
        compilation.last(step.depfile(self.work("d"), DepfileBy::Driver));
        Ok(compilation)
    }

    /// Returns the arguments that a source's host part and device parts share.
    #[inline]
    fn offload_args(&self, source: &PlannedSource) -> Line {
        let of_hip = self.code_object_version.or(self.sdk.code_object_version);
        let of_hip = of_hip.filter(|_| self.dialect() == HIP);
        let profile = self.profile(source);
        Line::of(&["-x", self.dialect(), "-std=c++17", "-Wno-error=register"])
            .all(self.sdk.args.iter().cloned())
            .when(self.dialect() == CUDA, &["-Wno-unknown-cuda-version"])
            .all(of_hip.map(|version| format!("-mcode-object-version={version}").into()))
            // The predefined macros depend on the optimization level, so the host part and the
            // device parts need the same level.
            .one(format!("-O{}", profile.level))
            // For optimized code, clang requests only line information from ptxas, even with `-g`.
            .when(profile.debug != DebugInfo::None, &["-g"])
            .all(self.source_args(source))
    }

    fn device_tools<'c>(&self, clang: &'c Clang) -> Vec<&'c Identity> {
        if self.dialect() == HIP { clang.with_lld() } else { vec![&clang.identity] }
    }

    fn by_compiler_proper(&self) -> DepfileBy {
        DepfileBy::CompilerProper { driver_ignores: self.dialect() == HIP, system: true }
    }

    #[inline]
    fn host_args(&self) -> Vec<OsString> {
        let is_cross = self.cargo.target != self.cargo.host;
        let target = format!("--target={}", self.cargo.target);
        Line::of(&["-c", "-fPIC"]).when(is_cross, &[&target]).done()
    }

    /// Returns the option with the ID that host code and device code share (`-cuid`).
    #[inline]
    fn cuid(&self, source: &PlannedSource) -> OsString {
        format!("-cuid={}", self.source_id(source)).into()
    }

    /// Returns a source's ID, which is unique among the sources of all packages and does not depend
    /// on their folders.
    #[inline]
    pub(super) fn source_id(&self, source: &PlannedSource) -> ContentHash {
        let file = self.cargo.portable(&source.path.to_string_lossy());
        ContentHash::of_parts(&[&self.cargo.package, self.output.pack_name(), &file])
    }

    /// Returns an object's only source.
    ///
    /// One call compiles it for all targets, so an option that build.rs sets for only some of them
    /// is an error.
    #[inline]
    pub(super) fn source_for_all(&self) -> Result<&'a PlannedSource, Error> {
        let source = &self.module.sources[0];
        let flags = |target| self.module.flags_for(source, target);
        let first = flags(self.target());
        match self.targets.iter().find(|target| flags(target) != first) {
            None => Ok(source),
            Some(other) => Err(Error::config(format!(
                "one command compiles {} for {} and {other}, but build.rs sets different options \
                 for these targets: in a static library, all targets need the same options",
                source.path.display(),
                self.target()
            ))),
        }
    }
}

/// A file with the device code for several targets, or the toolkit that creates it.
#[derive(Debug, Clone, Copy)]
pub(crate) enum FatBinary<'a> {
    /// HIP's bundle, which already exists.
    Bundle(&'a Path),
    /// CUDA's fat binary, made by this toolkit's program `fatbinary`.
    By(&'a Nvcc),
}

#[inline]
fn image_option(image: &DeviceImage<'_>) -> Option<OsString> {
    let arch = image.target.arch().nvidia()?;
    let kind = if arch.code == NvidiaCode::Ptx { "ptx" } else { "elf" };
    let sm = arch.with_code(NvidiaCode::Cubin).to_string();
    let sm = sm.trim_start_matches("sm_");
    let path = plain_path(image.path.into());
    Some(format!("--image3=kind={kind},sm={sm},file={}", path.display()).into())
}

/// Returns the option that selects a target (`--offload-arch`). For PTX (`compute_80`), the option
/// names the machine code of the same architecture (`sm_80`).
#[inline]
fn offload_arch(target: &Target) -> Option<OsString> {
    let name = match target.arch().nvidia() {
        Some(arch) => arch.with_code(NvidiaCode::Cubin).to_string(),
        None => target.to_string(),
    };
    target.is_gpu().then(|| format!("--offload-arch={name}").into())
}

//! Links the device code of all of a static library's objects into one program per target.
//!
//! | linker | output | in the library |
//! |---|---|---|
//! | nvcc, `-dlink` | an object with the linked device code | beside the sources' objects |
//! | clang, `--offload-link -r` | one object with all host code and the linked device code | the only object |
//!
//! nvcc links only machine code. PTX stays in the sources' objects, and the driver links it when
//! the program loads it.
//!
//! The functions are `#[inline]`, so only build scripts that make static libraries compile them.

use super::line::Line;
use super::nvcc_variables::nvcc_env;
use super::{Compilation, tool_identities};
use crate::output::{OutDir, image_file_name};
use crate::request::Options;
use crate::targets::Target;
use crate::toolchain::compilers::{Clang, Cxx, Nvcc, identity};
use crate::toolchain::exec::{NvccFlags, Step, StepKind};
use crate::toolchain::{Cargo, ContentHash};
use offload_format::target::NvidiaCode;
use std::ffi::OsString;
use std::path::PathBuf;

pub(crate) struct DeviceLink<'a> {
    /// The targets of all sources together.
    pub(crate) targets: &'a [Target],
    /// Whether some sources support fewer targets than others.
    pub(crate) lists_differ: bool,
    /// The sources' objects, with their hashes.
    pub(crate) objects: &'a [(PathBuf, ContentHash)],
    /// The part of the file names that contains the targets.
    pub(crate) file_name: &'a str,
    /// The options of the build.
    pub(crate) options: &'a Options,
    /// Whether any object has full debug information.
    pub(crate) is_debugged: bool,
    pub(crate) output: &'a OutDir,
    pub(crate) cargo: &'a Cargo,
}

impl DeviceLink<'_> {
    #[inline]
    pub(crate) fn by_nvcc(&self, nvcc: &Nvcc, ccbin: &Cxx) -> Compilation {
        let mut compilation = self.compilation();
        compilation.identities.extend(tool_identities(
            &[&nvcc.identity, &ccbin.identity],
            &[],
            self.cargo,
        ));
        compilation.identities.push(identity(&nvcc.program("nvlink")));
        compilation.identities.extend(ccbin.env_identities());
        let variables = NvccFlags::set(self.cargo);
        compilation
            .identities
            .extend(variables.iter().map(|flags| format!("{}={}", flags.name, flags.others)));
        let link = Line::of(&["-dlink", "-ccbin"])
            .one(&ccbin.path)
            .all(self.targets.iter().flat_map(gencode))
            .when(ccbin.takes_gnu_options(), &["-Xcompiler", "-fPIC"])
            // nvlink drops debug information without these options.
            .when(self.is_debugged, &["-g", "-G"])
            // Without this option, nvlink warns about each source that build.rs does not compile
            // for all targets.
            .when(self.lists_differ, &["-Xnvlink", "--suppress-arch-warning"])
            .words(&self.options.flags_for(None))
            .all(self.object_args())
            .done();
        compilation
            .last(Step::new(StepKind::Nvcc, &nvcc.path, link).env(&nvcc_env(ccbin, self.cargo)));
        compilation
    }

    /// Returns the compilation of a link by clang. For NVIDIA's targets, `toolkit` is a CUDA
    /// toolkit.
    #[inline]
    pub(crate) fn by_clang(&self, clang: &Clang, toolkit: Option<&Nvcc>) -> Compilation {
        let mut compilation = self.compilation();
        compilation.identities.extend(tool_identities(&clang.with_lld(), &[], self.cargo));
        let is_cross = self.cargo.target != self.cargo.host;
        // The link needs the optimization level, because it generates the code for AMD's GPUs.
        let level = self.options.opt_level.unwrap_or(if self.is_debugged { 0 } else { 3 });
        let mut link = Line::of(&["--offload-link", "-r"])
            .when(is_cross, &[&format!("--target={}", self.cargo.target)])
            .one(format!("-O{level}"));
        if let Some(toolkit) = toolkit {
            compilation.identities.push(identity(&toolkit.program("nvlink")));
            // Pass the path twice, because two programs need it: the one that makes the fatbin, and
            // the one that starts nvlink.
            let path = format!("--cuda-path={}", toolkit.root.display());
            link = link.words(&[&path, "-Xoffload-linker", &path]);
        }
        let link = link.all(self.object_args()).done();
        compilation.last(Step::new(StepKind::Link, &clang.path, link));
        compilation
    }

    fn object_args(&self) -> impl Iterator<Item = OsString> {
        self.objects.iter().map(|(path, _)| path.into())
    }

    /// Returns the compilation of the link. The link reads only the objects, so the key contains
    /// their hashes.
    #[inline]
    fn compilation(&self) -> Compilation {
        let stem = format!("device_link.{}", self.file_name);
        Compilation {
            image: self.output.images.join(image_file_name(&stem, "o")),
            stem,
            targets: self.targets.to_vec(),
            identities: self.objects.iter().map(|(_, hash)| hash.to_string()).collect(),
            ..Compilation::default()
        }
    }
}

/// Returns nvcc's options for a target: `-gencode arch=compute_80,code=sm_80`.
#[inline]
pub(super) fn gencode(target: &Target) -> Vec<OsString> {
    let Some(arch) = target.arch().nvidia() else { return Vec::new() };
    let code = format!("arch={},code={arch}", arch.with_code(NvidiaCode::Ptx));
    vec!["-gencode".into(), code.into()]
}

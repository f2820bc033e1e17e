//! Objects with host code and device code, by clang; what they have in common with nvcc's.

use super::profile::DebugInfo;
use super::{Compilation, Compilations, args};
use crate::error::Error;
use crate::exec::{DepfileBy, Kind, Step};
use crate::hash::ContentHash;
use crate::plan::PlannedSource;
use crate::targets::Target;
use crate::toolchain::Clang;
use offload_format::target::{NvidiaCode, OffloadArch};
use std::ffi::OsString;

impl<'a> Compilations<'a> {
    /// An object with host code and the device code for all these, by clang in this mode; relocatable if it is to be linked on
    /// the device.
    pub(crate) fn object(&self, mode: &str, clang: &Clang, is_relocatable: bool) -> Result<Compilation, Error> {
        let tools = if mode == "hip" { clang.with_lld() } else { vec![&clang.identity] };
        let mut compilation = self.compilation("o", &tools);
        let source = self.source_for_all()?;
        let mut common = args(&["-x", mode, "-std=c++17"]);
        common.extend(self.sdk.args.iter().cloned());
        if mode == "cuda" {
            common.push("-Wno-unknown-cuda-version".into());
        }
        // Older clangs have another driver, whose objects no linker takes apart again.
        common.extend(args(if is_relocatable { &["--offload-new-driver", "-fgpu-rdc"] } else { &[] }));
        let version = self.code_object_version.or(self.sdk.code_object_version);
        common.extend(version.filter(|_| mode == "hip").map(|it| format!("-mcode-object-version={it}").into()));
        // Which macros there are depends on it.
        let profile = self.profile(source);
        common.push(format!("-O{}", profile.level).into());
        // With optimization clang has ptxas make lines of it.
        common.extend((profile.debug != DebugInfo::None).then(|| "-g".into()));
        common.extend(self.source_args(source));

        let mut compile = common.clone();
        compile.extend(args(&["-c", "-fPIC"]));
        if self.cargo.target != self.cargo.host {
            compile.push(format!("--target={}", self.cargo.target).into());
        }
        for target in self.targets {
            compile.extend(offload_arch(target));
            if let OffloadArch::Nvidia(arch) = target.arch()
                && arch.code == NvidiaCode::Ptx
            {
                compile.push(format!("--cuda-include-ptx={}", arch.with_code(NvidiaCode::Cubin)).into());
            }
        }
        // Differs from source to source of all packages, and is the same wherever they lie and are built.
        let file = self.cargo.portable(&source.path.to_string_lossy());
        let id = ContentHash::of_parts(&[&self.cargo.package, self.output.pack_name(), &file]);
        compile.push(format!("-cuid={id}").into());
        compile.push(source.path.clone().into());
        let step = Step::new(Kind::Compile, &clang.path, compile);
        compilation.last(step.depfile(self.work("d"), DepfileBy::Driver));

        // That is what the host's part includes. clang writes no such file for the devices' parts beside it.
        for (index, target) in self.targets.iter().enumerate() {
            let depfile = self.work(&format!("{index}.d"));
            let mut scan = common.clone();
            scan.extend(args(&["-Qunused-arguments", "--cuda-device-only", "-E", "-Xclang", "-Eonly"]));
            scan.extend(offload_arch(target));
            scan.push(source.path.clone().into());
            let step = Step::new(Kind::Scan, &clang.path, scan);
            compilation
                .steps
                .push(step.depfile(depfile, DepfileBy::CompilerProper { driver_ignores: mode == "hip", system: true }));
        }
        Ok(compilation)
    }

    /// The source of an object, of which there is one.
    ///
    /// Returns an error if build.rs has an option for some of the targets only: one call compiles for all.
    pub(super) fn source_for_all(&self) -> Result<&'a PlannedSource, Error> {
        let source = &self.module.sources[0];
        let flags = |target| {
            let mut flags: Vec<&String> = self.module.options.flags_for(target).collect();
            flags.extend(source.options.flags_for(target));
            flags
        };
        let first = flags(self.target());
        match self.targets.iter().find(|target| flags(target) != first) {
            None => Ok(source),
            Some(other) => Err(Error::config(format!(
                "{} is compiled for {} and {other} in one go, and build.rs gives them different options: in a static library \
                 an option is for all targets",
                source.path.display(),
                self.target()
            ))),
        }
    }
}

/// For PTX, too: clang makes machine code beside it.
fn offload_arch(target: &Target) -> Option<OsString> {
    match target.arch() {
        OffloadArch::Nvidia(arch) => Some(format!("--offload-arch={}", arch.with_code(NvidiaCode::Cubin)).into()),
        OffloadArch::Amdgpu(id) => Some(format!("--offload-arch={id}").into()),
        OffloadArch::Cpu => None,
    }
}

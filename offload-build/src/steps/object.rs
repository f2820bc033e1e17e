//! Objects with host code and device code, by clang; what they have in common with nvcc's.

use super::{Compilation, Compilations, DEPFILE_TARGET, args};
use crate::error::Error;
use crate::hash::ContentHash;
use crate::plan::PlannedSource;
use crate::toolchain::Clang;
use offload_format::target::{NvidiaCode, OffloadArch};

impl<'a> Compilations<'a> {
    /// An object with host code and the device code for all these, by clang in this mode.
    pub(crate) fn object(&self, mode: &str, archs: &[OffloadArch<'_>], clang: &Clang) -> Result<Compilation, Error> {
        let mut compilation = self.compilation("o", &[&clang.path]);
        let source = self.source_for_all(archs)?;
        let mut compile = args(["-x", mode, "-c", "-fPIC", "-std=c++17"]);
        if self.cargo.target != self.cargo.host {
            compile.push(format!("--target={}", self.cargo.target).into());
        }
        for arch in archs {
            match *arch {
                OffloadArch::Nvidia(arch) if arch.code == NvidiaCode::Ptx => {
                    let sm = arch.with_code(NvidiaCode::Cubin);
                    // clang makes machine code of it as well.
                    compile.push(format!("--offload-arch={sm}").into());
                    compile.push(format!("--cuda-include-ptx={sm}").into());
                }
                _ => compile.push(format!("--offload-arch={arch}").into()),
            }
        }
        if mode == "cuda" {
            compile.push("-Wno-unknown-cuda-version".into());
        } else if let Some(version) = self.code_object_version.or(self.sdk.code_object_version) {
            compile.push(format!("-mcode-object-version={version}").into());
        }
        compile.extend(self.sdk.args.iter().cloned());
        // Differs from source to source of all packages, and is the same wherever they lie.
        let file = source.path.to_string_lossy();
        let id = ContentHash::of_parts([&*self.cargo.package, self.output.pack_name(), &*file].map(str::to_owned));
        compile.push(format!("-cuid={id}").into());
        compile.push(self.optimization());
        compile.extend(self.cargo.debug.then(|| "-g".into()));
        compile.extend(self.source_args(source));
        let depfile = self.work("d");
        compile.extend(args(["-MMD", "-MT", DEPFILE_TARGET, "-MF"]));
        compile.push(depfile.clone().into());
        compilation.depfiles.push(depfile);
        compile.extend([source.path.clone().into(), "-o".into(), compilation.image.clone().into()]);
        compilation.add(&clang.path, compile);
        Ok(compilation)
    }

    /// The source of an object, of which there is one.
    ///
    /// Returns an error if build.rs has an option for some of the targets only: one call compiles for all.
    pub(super) fn source_for_all(&self, archs: &[OffloadArch<'_>]) -> Result<&'a PlannedSource, Error> {
        let source = &self.module.sources[0];
        let all = [&self.module.options, &source.options];
        let flags = |arch| all.iter().flat_map(|options| options.flags_for(arch)).collect::<Vec<_>>();
        let first = flags(&self.arch);
        match archs.iter().find(|arch| flags(arch) != first) {
            None => Ok(source),
            Some(other) => Err(Error::config(format!(
                "{} is compiled for {} and {other} in one go, and build.rs gives them different options: in a static library \
                 an option is for all targets",
                source.path.display(),
                self.arch
            ))),
        }
    }
}

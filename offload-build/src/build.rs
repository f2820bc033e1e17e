//! The builder.

use crate::cargo::Cargo;
use crate::error::{Error, ErrorKind};
use crate::options::Request;
use crate::output::{self, OutDir};
use crate::pack::{self, Pack};
use crate::run::Run;
use crate::targets::{self, Wanted};
use crate::toolchain::Tools;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// What to compile, for which targets. See the [crate's front page](crate) for an example and for the environment
/// variables that have a say.
///
/// Paths are relative to the package's folder.
#[derive(Debug, Clone, Default)]
pub struct Build {
    request: Request,
    archs: Vec<Wanted>,
}

impl Build {
    /// Nothing to compile yet, for no target.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a source in the CUDA dialect. Several sources make one device program: they may call each other's
    /// `__device__` functions.
    pub fn file(&mut self, path: impl AsRef<Path>) -> &mut Self {
        self.request.options.files.push(path.as_ref().to_owned());
        self
    }

    /// Adds sources, as [`Build::file`] does.
    pub fn files<P: AsRef<Path>>(&mut self, paths: impl IntoIterator<Item = P>) -> &mut Self {
        paths.into_iter().for_each(|path| {
            self.file(path);
        });
        self
    }

    /// Adds a target: an AMD target ID, `sm_<n>`, `compute_<n>` or `cpu`; or several by one word: `native`, `all-major`,
    /// `all`. The [front page](crate#targets) says what they stand for. If no target is added, the variables that other
    /// programs use say for what is built.
    pub fn offload_arch(&mut self, arch: impl Into<String>) -> &mut Self {
        self.archs.push(Wanted::Name(arch.into()));
        self
    }

    /// Adds the GPUs of the building machine, each kind once; where there is none, these targets.
    pub fn native_or<S: Into<String>>(&mut self, archs: impl IntoIterator<Item = S>) -> &mut Self {
        self.archs.push(Wanted::NativeOr(archs.into_iter().map(Into::into).collect()));
        self
    }

    /// Adds targets, as [`Build::offload_arch`] does.
    pub fn archs<S: Into<String>>(&mut self, archs: impl IntoIterator<Item = S>) -> &mut Self {
        archs.into_iter().for_each(|arch| {
            self.offload_arch(arch);
        });
        self
    }

    /// Adds a folder in which `#include` looks.
    pub fn include(&mut self, folder: impl AsRef<Path>) -> &mut Self {
        self.request.options.includes.push(folder.as_ref().to_owned());
        self
    }

    /// Defines a macro; without a value it is 1.
    pub fn define<'a>(&mut self, name: &str, value: impl Into<Option<&'a str>>) -> &mut Self {
        self.request.options.defines.push((name.to_owned(), value.into().map(str::to_owned)));
        self
    }

    /// Gives an option to every compiler when it compiles a source, behind all others.
    pub fn flag(&mut self, flag: impl Into<String>) -> &mut Self {
        self.request.options.flags.push(flag.into());
        self
    }

    /// The code object version of AMD images; without it the compiler's default (6 in clang 22). ROCm's runtime reads
    /// 5 from 5.5 on and 6 from 6.3 on; generic targets need 6.
    pub fn code_object_version(&mut self, version: u32) -> &mut Self {
        self.request.options.code_object_version = Some(version);
        self
    }

    /// The clang to use, before `OFFLOAD_CLANG` and the usual places.
    pub fn clang(&mut self, path: impl AsRef<Path>) -> &mut Self {
        self.request.clang = Some(path.as_ref().to_owned());
        self
    }

    /// The ptxas to use, before `OFFLOAD_PTXAS` and the usual places.
    pub fn ptxas(&mut self, path: impl AsRef<Path>) -> &mut Self {
        self.request.ptxas = Some(path.as_ref().to_owned());
        self
    }

    /// The most compilers that run at a time for this pack, at least one; `OFFLOAD_JOBS` is before it. Without it as many run
    /// as `cargo build -j` allows. For compilers that need much memory.
    pub fn max_parallel(&mut self, most: usize) -> &mut Self {
        self.request.max_parallel = Some(most);
        self
    }

    /// The folder of the prebuilt set, `prebuilt` unless given. `OFFLOAD_PREBUILT=update cargo build --release` writes it;
    /// from then on an image whose compiler is missing comes from there, as long as sources and options are the same.
    /// In a workspace, `OFFLOAD_PREBUILT_<package>=update` writes that of one package.
    pub fn prebuilt(&mut self, folder: impl AsRef<Path>) -> &mut Self {
        self.request.prebuilt = Some(folder.as_ref().to_owned());
        self
    }

    /// Compiles, packs, and tells Cargo. Ends the build script with the reason if that fails.
    pub fn compile(&self, name: &str) -> Pack {
        let made = Cargo::from_env().and_then(|cargo| {
            let pack = self.compile_for(name, &cargo)?;
            cargo.flush();
            Ok(pack)
        });
        made.unwrap_or_else(|error| error.report(name))
    }

    /// Compiles, packs, and tells Cargo.
    ///
    /// Returns an error if there is no target, if a name is malformed, if a source is missing, if a compiler is missing
    /// and no prebuilt image stands in, or if a compiler fails.
    pub fn try_compile(&self, name: &str) -> Result<Pack, Error> {
        let cargo = Cargo::from_env()?;
        let made = self.compile_for(name, &cargo);
        if made.is_err() {
            // A build script may go on from here; then nothing else would make Cargo run it again.
            cargo.run_again();
        }
        cargo.flush();
        made
    }

    fn compile_for(&self, name: &str, cargo: &Cargo) -> Result<Pack, Error> {
        claim_name(name)?;
        let output = OutDir::create(&cargo.out_dir, name)?;
        if cargo.user_var("DOCS_RS").is_some() {
            return pack::write_absent(name, "docs.rs has no GPU compilers", &output);
        }
        match cargo.user_var("OFFLOAD_SKIP").as_deref() {
            None | Some("0") => {}
            Some("1") => return pack::write_absent(name, "OFFLOAD_SKIP was set", &output),
            Some(other) => return Err(Error::config(format!("OFFLOAD_SKIP is '{other}'; it can be 1 or 0"))),
        }
        let tools = Tools::new(cargo, &output, self.request.clang.as_deref(), self.request.ptxas.as_deref());
        let targets = targets::resolve(cargo, &tools, &self.archs, self.request.options.code_object_version)?;
        self.check_sources(cargo)?;
        Run::new(&self.request, name, cargo, &output, &tools).make_pack(&targets)
    }

    fn check_sources(&self, cargo: &Cargo) -> Result<(), Error> {
        if self.request.options.files.is_empty() {
            return Err(Error::config("no sources: name one with .file(\"kernels/saxpy.cu\")".to_owned()));
        }
        for file in &self.request.options.files {
            if file.extension().is_none_or(|extension| extension != "cu") {
                let message = format!("the source {} is not a .cu file, the only kind so far", file.display());
                return Err(Error::config(message));
            }
            if !file.is_file() {
                let message = format!(
                    "the source {} is not there (paths are relative to {})",
                    file.display(),
                    cargo.manifest_dir.display()
                );
                return Err(Error::new(ErrorKind::SourceNotFound, message));
            }
            cargo.watch(file);
        }
        Ok(())
    }
}

/// A pack's name is one of a file, and of one pack.
fn claim_name(name: &str) -> Result<(), Error> {
    static NAMES: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-') {
        return Err(Error::config(format!("a pack's name has letters, digits, '_' and '-'; '{name}' does not")));
    }
    if name == output::INCLUDE {
        return Err(Error::config(format!("'{name}' cannot be a pack's name: the kernel header's folder has it")));
    }
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    match names.insert(name.to_owned()) {
        true => Ok(()),
        false => Err(Error::config(format!(
            "build.rs makes two packs of the name '{name}': the second would replace the first"
        ))),
    }
}

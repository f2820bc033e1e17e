//! The compilers of this machine: where they are, and whether they can do what is asked.

mod answers;
mod clang;
mod cxx;
mod ptxas;
mod search;

use answers::Answers;
pub(crate) use clang::Clang;
pub(crate) use cxx::Cxx;
pub(crate) use ptxas::Ptxas;
pub(crate) use search::{Found, Trail, named, program};

use crate::cargo::Cargo;
use crate::error::Error;
use crate::output::OutDir;
use offload_format::target::NvidiaArch;
use search::NO_INPUT;
use std::cell::OnceCell;
use std::fs;
use std::path::Path;
use std::time::UNIX_EPOCH;

/// The GPU compilers, each looked for when the first target needs it.
#[derive(Debug)]
pub(crate) struct Tools<'a> {
    cargo: &'a Cargo,
    answers: Answers,
    /// What build.rs names.
    named_clang: Option<&'a Path>,
    named_ptxas: Option<&'a Path>,
    clang: OnceCell<Found<Clang>>,
    ptxas: OnceCell<Found<Ptxas>>,
}

impl<'a> Tools<'a> {
    pub(crate) fn new(
        cargo: &'a Cargo,
        output: &OutDir,
        named_clang: Option<&'a Path>,
        named_ptxas: Option<&'a Path>,
    ) -> Self {
        let answers = Answers::open(output.answers());
        Self { cargo, answers, named_clang, named_ptxas, clang: OnceCell::new(), ptxas: OnceCell::new() }
    }

    pub(crate) fn clang(&self) -> Result<&Found<Clang>, Error> {
        once(&self.clang, || Clang::find(self.cargo, &self.answers, self.named_clang))
    }

    pub(crate) fn ptxas(&self) -> Result<&Found<Ptxas>, Error> {
        once(&self.ptxas, || Ptxas::find(self.cargo, self.named_ptxas))
    }

    /// The host's C++ compiler.
    pub(crate) fn cxx(&self) -> Result<Cxx, Error> {
        Cxx::find(self.cargo, &self.answers)
    }

    /// Whether clang's driver knows an NVIDIA architecture.
    pub(crate) fn clang_knows(&self, clang: &Clang, arch: NvidiaArch) -> bool {
        let arch = format!("--offload-arch={arch}");
        let args = ["-###", "-x", "cuda", "--cuda-device-only", "-nogpuinc", "-nogpulib", "-c", NO_INPUT, &arch];
        self.answers.ask(&clang.path, &args).is_ok()
    }

    /// The architectures that ptxas' `--help` lists, those with `a` and `f` too.
    pub(crate) fn ptxas_architectures(&self, ptxas: &Ptxas) -> Vec<NvidiaArch> {
        let text = self.answers.ask(&ptxas.path, &["--help"]).unwrap_or_default();
        // They stand in quotes.
        text.split('\'').filter(|word| word.starts_with("sm_")).filter_map(|it| NvidiaArch::parse(it).ok()).collect()
    }

    /// The clang that was needed.
    pub(crate) fn used_clang(&self) -> Option<&Clang> {
        self.clang.get().and_then(Found::tool)
    }

    /// The ptxas that was needed.
    pub(crate) fn used_ptxas(&self) -> Option<&Ptxas> {
        self.ptxas.get().and_then(Found::tool)
    }
}

/// What is in the cell, or what `find` puts there.
fn once<T>(cell: &OnceCell<T>, find: impl FnOnce() -> Result<T, Error>) -> Result<&T, Error> {
    match cell.get() {
        Some(found) => Ok(found),
        None => find().map(|found| cell.get_or_init(|| found)),
    }
}

/// What stands for a tool in rebuild keys: path, size and time of change. A new version of it changes at least one.
pub(crate) fn identity(tool: &Path) -> String {
    let metadata = fs::metadata(tool).ok();
    let size = metadata.as_ref().map_or(0, fs::Metadata::len);
    let changed = metadata.and_then(|it| it.modified().ok()).and_then(|it| it.duration_since(UNIX_EPOCH).ok());
    format!("{} {size} {}", tool.display(), changed.unwrap_or_default().as_nanos())
}

//! The compilers of this machine: where they are, and whether they can do what is asked.

mod clang;
mod cxx;
mod ptxas;
mod search;

pub(crate) use clang::Clang;
pub(crate) use cxx::Cxx;
pub(crate) use ptxas::Ptxas;
pub(crate) use search::{Found, Trail, program};

use crate::cargo::Cargo;
use crate::error::Error;
use std::cell::OnceCell;
use std::fs;
use std::path::Path;
use std::time::UNIX_EPOCH;

/// The GPU compilers, each looked for when the first target needs it.
#[derive(Debug)]
pub(crate) struct Tools<'a> {
    cargo: &'a Cargo,
    /// What build.rs names.
    named_clang: Option<&'a Path>,
    named_ptxas: Option<&'a Path>,
    clang: OnceCell<Found<Clang>>,
    ptxas: OnceCell<Found<Ptxas>>,
}

impl<'a> Tools<'a> {
    pub(crate) fn new(cargo: &'a Cargo, clang: Option<&'a Path>, ptxas: Option<&'a Path>) -> Self {
        Self { cargo, named_clang: clang, named_ptxas: ptxas, clang: OnceCell::new(), ptxas: OnceCell::new() }
    }

    pub(crate) fn clang(&self) -> Result<&Found<Clang>, Error> {
        once(&self.clang, || Clang::find(self.cargo, self.named_clang))
    }

    pub(crate) fn ptxas(&self) -> Result<&Found<Ptxas>, Error> {
        once(&self.ptxas, || Ptxas::find(self.cargo, self.named_ptxas))
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

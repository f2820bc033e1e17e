//! The compilers of this machine: where they are, and whether they can do what is asked.

mod clang;
mod cxx;
mod ptxas;
mod search;

pub(crate) use clang::Clang;
pub(crate) use cxx::Cxx;
pub(crate) use ptxas::Ptxas;
pub(crate) use search::{Found, Trail};

use std::fs;
use std::path::Path;
use std::time::UNIX_EPOCH;

/// What stands for a tool in rebuild keys: path, size and time of change. A new version of it changes at least one.
pub(crate) fn identity(tool: &Path) -> String {
    let metadata = fs::metadata(tool).ok();
    let size = metadata.as_ref().map_or(0, fs::Metadata::len);
    let changed = metadata.and_then(|it| it.modified().ok()).and_then(|it| it.duration_since(UNIX_EPOCH).ok());
    format!("{} {size} {}", tool.display(), changed.unwrap_or_default().as_nanos())
}

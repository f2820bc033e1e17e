//! Checks the folders passed to `.include(...)`, because compilers silently ignore missing ones.

use crate::plan::{PlannedModule, PlannedSource};
use crate::toolchain::{Cargo, Error, ErrorKind};
use std::path::Path;

/// Returns an error if build.rs names a missing folder for these sources of a module. Call this
/// function only for sources that a compiler will read, because prebuilt images need no headers.
pub(crate) fn check(
    module: &PlannedModule,
    sources: &[&PlannedSource],
    cargo: &Cargo,
) -> Result<(), Error> {
    let including = sources.iter().filter(|source| source.language.is_preprocessed());
    for source in including {
        let folders = module.options.includes.iter().chain(&source.options.includes);
        for folder in folders {
            let path = cargo.manifest_dir.join(folder);
            if !path.is_dir() {
                return Err(missing(source, folder, &path, cargo));
            }
        }
    }
    Ok(())
}

fn missing(source: &PlannedSource, folder: &Path, path: &Path, cargo: &Cargo) -> Error {
    let (source, shown) = (source.path.display(), path.display());
    let mut message = if path.exists() {
        format!("build.rs calls .include({folder:?}) for {source}, but {shown} is not a folder")
    } else {
        format!("build.rs calls .include({folder:?}) for {source}, but there is no folder {shown}")
    };
    if folder.is_relative() {
        message += "\nPaths are relative to the package's folder.";
        if cargo.out_dir.join(folder).is_dir() {
            message += &format!(
                " To use the folder in OUT_DIR, prepend the value of OUT_DIR: {}",
                cargo.out_dir.display()
            );
        }
    }
    message += if cargo.manifest_dir.ancestors().any(|folder| folder.join(".gitmodules").is_file())
    {
        "\nIf the folder is in a git submodule, run git submodule update --init. "
    } else {
        "\n"
    };
    message += "If build.rs creates the folder, create it before this build.";
    Error::new(ErrorKind::SourceNotFound, message)
}

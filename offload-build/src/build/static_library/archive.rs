//! The archive that contains a static library's objects.

use crate::output::{OutDir, record};
use offload_toolchain::cargo::Cargo;
use offload_toolchain::compilers;
use offload_toolchain::error::{Error, ErrorKind};
use offload_toolchain::hash::{ContentHash, Parts};
use std::fs;
use std::path::{Path, PathBuf};

/// Writes the library that contains these objects, unless an earlier run wrote the same library.
pub(super) fn write(
    name: &str,
    objects: &[(PathBuf, ContentHash)],
    output: &OutDir,
    cargo: &Cargo,
) -> Result<PathBuf, Error> {
    let path = output.library(name);
    let record_path = output.work.join("members.record");
    let mut members = Parts::default();
    for (_, hash) in objects {
        members.add(&hash.to_string());
    }
    let lines = vec![("members".to_owned(), members.finish().to_string())];
    if path.is_file() && record::read(&record_path).is_some_and(|known| known == lines) {
        return Ok(path);
    }
    let _ = fs::remove_file(&record_path);
    let objects: Vec<&Path> = objects.iter().map(|(path, _)| path.as_path()).collect();
    compilers::archive(cargo, &path, &objects).map_err(|error| {
        Error::new(
            ErrorKind::ToolFailed,
            format!("could not put the objects into {}: {error}", path.display()),
        )
    })?;
    record::write(&record_path, lines)?;
    Ok(path)
}

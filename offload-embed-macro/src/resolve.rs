//! Finds the files of a pack.

use crate::error::Error;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};

/// The variable that makes development builds read packs from disk.
const FROM_DISK: &str = "OFFLOAD_FROM_DISK";

/// Finds the index of the pack `name`, which the package's build script left in `OUT_DIR`. The
/// pack's other files are in the same folder.
pub(crate) fn index(name: &str) -> Result<PathBuf, Error> {
    if name.is_empty() {
        return Err(Error::NoName);
    }
    if name.contains(['.', '/', '\\']) {
        return Err(Error::FileName(name.to_owned()));
    }
    let out_dir = env::var_os("OUT_DIR").ok_or(Error::NoOutDir)?;
    let folder = PathBuf::from(out_dir).join("offload");
    let path = folder.join(format!("{name}.index"));
    if !path.is_file() {
        return Err(Error::NoPack { name: name.to_owned(), others: names_in(&folder), folder });
    }
    Ok(path)
}

/// Whether the environment requests that development builds read packs from disk.
pub(crate) fn from_disk() -> Result<bool, Error> {
    match env::var_os(FROM_DISK) {
        None => Ok(false),
        Some(value) if value.is_empty() || value == "0" => Ok(false),
        Some(value) if value == "1" => Ok(true),
        Some(value) => {
            Err(Error::Switch { variable: FROM_DISK, value: value.to_string_lossy().into_owned() })
        }
    }
}

/// Checks that a library is complete.
pub(crate) fn check_size(path: PathBuf, expected: u64) -> Result<(), Error> {
    match fs::metadata(&path) {
        Ok(found) if found.len() == expected => Ok(()),
        Ok(found) => Err(Error::Size { path, expected, found: found.len() }),
        Err(error) => Err(Error::Io(path, error)),
    }
}

fn names_in(folder: &Path) -> Vec<String> {
    let files = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let indexes =
        files.filter(|path| path.extension().is_some_and(|extension| extension == "index"));
    let mut names: Vec<String> =
        indexes.filter_map(|path| Some(path.file_stem()?.to_string_lossy().into_owned())).collect();
    names.sort_unstable();
    names
}

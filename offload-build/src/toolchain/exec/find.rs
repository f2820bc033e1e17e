//! Searches for programs by name, and for numbered folders.

use crate::toolchain::cargo::Cargo;
use crate::toolchain::files::entries;
use std::fs;
use std::path::{Path, PathBuf};

/// The system's null device: an empty input, and an output that discards everything.
pub const NO_INPUT: &str = if cfg!(windows) { "NUL" } else { "/dev/null" };

/// Returns the path of the program `name` (on Windows, `name.exe`), if the file exists.
pub fn program(folder: &Path, name: &str) -> Option<PathBuf> {
    let path = folder.join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
    path.is_file().then_some(path)
}

/// Whether any user may start a file. Tools that unpack a program may lose its executable bit, and
/// the program then does not start. Windows has no such bit, so every file counts as executable.
pub fn is_executable(path: &Path) -> bool {
    #[cfg(unix)]
    return fs::metadata(path)
        .is_ok_and(|it| std::os::unix::fs::PermissionsExt::mode(&it.permissions()) & 0o111 != 0);
    #[cfg(not(unix))]
    path.is_file()
}

/// Returns the path of a tool that a user names. A name without a folder is a program in `PATH`.
/// Other relative paths are relative to the package's folder. On Windows, `.exe` is optional.
pub fn named(tool: &Path, cargo: &Cargo) -> Option<PathBuf> {
    let is_bare = tool.parent().is_none_or(|parent| parent.as_os_str().is_empty());
    let mut folders = if is_bare { cargo.search_path() } else { vec![PathBuf::new()] };
    for folder in &mut folders {
        // Make the path absolute, because a tool may start in a different folder.
        *folder = cargo.manifest_dir.join(&*folder);
    }
    find(tool, &folders, std::env::consts::EXE_SUFFIX)
}

fn find(tool: &Path, folders: &[PathBuf], suffix: &str) -> Option<PathBuf> {
    for folder in folders {
        let path = folder.join(tool);
        let mut with_suffix = path.clone().into_os_string();
        with_suffix.push(suffix);
        for path in [path, with_suffix.into()] {
            if path.is_file() {
                return Some(path);
            }
        }
    }
    None
}

/// Returns the paths in a folder whose names consist of this prefix and a number, such as
/// `cuda-12.4` or `cu13`, in ascending order. The list is empty if the folder cannot be read.
pub fn numbered(folder: &Path, prefix: &str) -> Vec<PathBuf> {
    let number = |name: &str| -> Option<Vec<u32>> {
        let rest = name.strip_prefix(prefix)?;
        let is_number = rest.starts_with(|c: char| c.is_ascii_digit());
        is_number.then(|| rest.split('.').map_while(|part| part.parse().ok()).collect())
    };
    let mut found: Vec<(Option<Vec<u32>>, String)> = Vec::new();
    for name in entries(folder) {
        let key = (number(&name), name);
        if key.0.is_some() {
            found.insert(found.partition_point(|other| *other < key), key);
        }
    }
    found.iter().map(|(_, name)| folder.join(name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_suffix_may_be_left_out() {
        let scratch = tempfile::tempdir().unwrap();
        let root = scratch.path();
        let folders = ["one", "two"].map(|folder| root.join(folder));
        folders.iter().for_each(|folder| fs::create_dir_all(folder).unwrap());
        fs::write(folders[0].join("clang-22.exe"), "").unwrap();
        fs::write(folders[1].join("clang-22"), "").unwrap();
        let found = |tool: &str, suffix| find(Path::new(tool), &folders, suffix);
        assert_eq!(found("clang-22", ".exe"), Some(folders[0].join("clang-22.exe")));
        assert_eq!(found("clang-22.exe", ".exe"), Some(folders[0].join("clang-22.exe")));
        assert_eq!(found("clang-22", ""), Some(folders[1].join("clang-22")));
        assert_eq!(found("clang", ".exe"), None);
    }
}

//! Writes a build's files, and lists folders. Even if an error or a signal ends the build, each
//! file is written completely or not at all. A power cut may leave an empty file. Files whose
//! contents do not change are not written.

pub mod record;

use crate::toolchain::error::Error;
use crate::toolchain::hash::ContentHash;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};

/// Writes a small file, unless it already contains these bytes.
pub fn write_if_changed(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    if fs::read(path).is_ok_and(|old| old == bytes) {
        return Ok(());
    }
    write_whole(path, |file| file.write_all(bytes))
}

pub fn read(path: &Path) -> Result<Vec<u8>, Error> {
    fs::read(path).map_err(|error| Error::io("read", path, error))
}

pub fn hash(path: &Path) -> Result<ContentHash, Error> {
    ContentHash::of_file(path).map_err(|error| Error::io("read", path, error))
}

/// Creates a folder and its parents.
pub fn make_folder(folder: &Path) -> Result<(), Error> {
    fs::create_dir_all(folder).map_err(|error| Error::io("make the folder", folder, error))
}

/// Hard-links the file `from` as `to`, in a different folder, or copies the file if linking fails.
#[inline]
pub fn link_or_copy(from: &Path, to: &Path) -> Result<(), Error> {
    remove(to)?;
    let made = fs::hard_link(from, to).or_else(|_| fs::copy(from, to).map(drop));
    made.map_err(|error| Error::io("copy", from, error))
}

pub fn remove(path: &Path) -> Result<(), Error> {
    remove_file(path).map_err(|error| Error::io("remove the old file", path, error))
}

/// Writes a file under a temporary name, and renames the file when it is complete. Several threads
/// of one build script, and the script of an interrupted build, may write the same file, so each
/// writer uses a separate temporary name.
pub fn write_whole(
    path: &Path,
    write: impl FnOnce(&mut File) -> io::Result<()>,
) -> Result<(), Error> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let mut temporary = path.as_os_str().to_owned();
    temporary.push(format!(".{}-{number}.part", process::id()));
    let temporary = PathBuf::from(temporary);
    // An existing file with this name is from an interrupted process with the same process ID.
    let made = remove_file(&temporary)
        .and_then(|()| OpenOptions::new().write(true).create_new(true).open(&temporary));
    let written =
        made.and_then(|mut file| write(&mut file)).and_then(|()| fs::rename(&temporary, path));
    written.map_err(|error| {
        let _ = fs::remove_file(&temporary);
        Error::io("write", path, error)
    })
}

/// Whether to leave an entry out of a tree. The arguments are the entry's path relative to the
/// tree's folder, and its full path.
pub type IsLeftOut = fn(&str, &Path) -> bool;

/// Whether a folder is marked as a cache of files that programs can regenerate. Cargo marks its
/// build folder this way.
pub fn is_cache(folder: &Path) -> bool {
    folder.join("CACHEDIR.TAG").is_file()
}

/// Returns the sorted names in a folder. The list is empty if the folder cannot be read. An empty
/// path means the working folder.
pub fn entries(folder: &Path) -> Vec<String> {
    let read = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let mut names = Vec::new();
    if let Ok(entries) = fs::read_dir(read) {
        for entry in entries.flatten() {
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    names.sort_unstable();
    names
}

/// Returns the paths of the files in a folder and its subfolders, relative to the folder. Follows
/// links to folders, but lists a link to a parent folder as a file. Returns `None` if there are
/// more than `most` files and folders.
pub fn tree(folder: &Path, most: usize, is_left_out: IsLeftOut) -> Option<Vec<String>> {
    let mut tree = Tree { is_left_out, left: most, files: Vec::new(), around: Vec::new() };
    tree.add(folder, "")?;
    Some(tree.files)
}

struct Tree {
    is_left_out: IsLeftOut,
    /// How many more files and folders may be added.
    left: usize,
    files: Vec<String>,
    /// The current folder and its parents, with links resolved.
    around: Vec<PathBuf>,
}

impl Tree {
    /// Adds the files in a folder, prefixing their names with `inside`.
    fn add(&mut self, folder: &Path, inside: &str) -> Option<()> {
        // A folder that cannot be read counts as empty.
        let real = folder.canonicalize().unwrap_or_default();
        if self.around.contains(&real) {
            self.files.push(inside.to_owned());
            return Some(());
        }
        self.around.push(real);
        for name in entries(folder) {
            self.left = self.left.checked_sub(1)?;
            let (path, mut name) = (folder.join(&name), format!("{inside}{name}"));
            if (self.is_left_out)(&name, &path) {
                continue;
            }
            if path.is_dir() {
                name.push('/');
                self.add(&path, &name)?;
            } else {
                self.files.push(name);
            }
        }
        self.around.pop();
        Some(())
    }
}

fn remove_file(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

pub fn starts_with(file: &mut impl Read, mut expected: impl Read) -> io::Result<bool> {
    let (mut wanted, mut found) = ([0; 1 << 14], [0; 1 << 14]);
    loop {
        match expected.read(&mut wanted)? {
            0 => return Ok(true),
            read => {
                file.read_exact(&mut found[..read])?;
                if found[..read] != wanted[..read] {
                    return Ok(false);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_a_tree() {
        let folder = tempfile::tempdir().unwrap();
        for path in ["b/c.txt", "a.txt", "target/x", "d/target/x"] {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        let tree = |most| tree(folder.path(), most, |name, _| name == "target");
        assert_eq!(tree(7).unwrap(), ["a.txt", "b/c.txt", "d/target/x"]);
        assert_eq!(tree(6), None);
    }
    #[cfg(unix)]
    #[test]
    fn links_in_a_tree() {
        use std::os::unix::fs::symlink;
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::create_dir_all(path("in/a")).unwrap();
        fs::create_dir_all(path("beside")).unwrap();
        fs::write(path("beside/x.txt"), "").unwrap();
        symlink("../beside", path("in/b")).unwrap();
        symlink("../nowhere", path("in/.#lock")).unwrap();
        // Following these links would never end.
        symlink("../a", path("in/a/again")).unwrap();
        symlink("..", path("in/a/up")).unwrap();
        symlink("../in", path("beside/back")).unwrap();
        let tree = tree(&path("in"), usize::MAX, |_, _| false).unwrap();
        assert_eq!(tree, [".#lock", "a/again/", "a/up/", "b/back/", "b/x.txt"]);
    }
}

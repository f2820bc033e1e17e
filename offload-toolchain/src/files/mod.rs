//! Files that a build writes, and the names of those in a folder. Each file is written completely
//! or not at all, whatever error or signal ends the build; a power cut may leave an empty file.
//! Files whose contents do not change are left alone.

pub mod record;

use crate::error::Error;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};

/// Writes a small file, unless it has these bytes already.
pub fn write_if_changed(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    if fs::read(path).is_ok_and(|old| old == bytes) {
        return Ok(());
    }
    write_whole(path, |file| file.write_all(bytes))
}

/// Gives a file a second name in another folder, or copies the file if links are impossible.
#[inline]
pub fn link_or_copy(from: &Path, to: &Path) -> Result<(), Error> {
    remove(to)?;
    let made = fs::hard_link(from, to).or_else(|_| fs::copy(from, to).map(drop));
    made.map_err(|error| Error::io("copy", from, error))
}

/// Removes a file, if it is there.
pub fn remove(path: &Path) -> Result<(), Error> {
    remove_file(path).map_err(|error| Error::io("remove the old", path, error))
}

/// Writes a file under a temporary name, and gives it its own name only when all of it is written.
/// Several threads of one build script, and the script of a build that was ended, may write the
/// same file. Each therefore uses a separate temporary name.
pub fn write_whole(
    path: &Path,
    write: impl FnOnce(&mut File) -> io::Result<()>,
) -> Result<(), Error> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let mut temporary = path.as_os_str().to_owned();
    temporary.push(format!(".{}-{number}.part", process::id()));
    let temporary = PathBuf::from(temporary);
    // If a file with this temporary name exists, an ended process with the same process ID wrote
    // it.
    let made = remove_file(&temporary)
        .and_then(|()| OpenOptions::new().write(true).create_new(true).open(&temporary));
    let written =
        made.and_then(|mut file| write(&mut file)).and_then(|()| fs::rename(&temporary, path));
    written.map_err(|error| {
        let _ = fs::remove_file(&temporary);
        Error::io("write", path, error)
    })
}

/// Returns the paths of the files in a folder and in those below it, from the folder, sorted.
/// Folders with certain names are left out. Returns `None` if there are more than `most` files and
/// folders.
pub fn tree(folder: &Path, most: usize, is_left_out: fn(&str) -> bool) -> Option<Vec<String>> {
    let (mut files, mut left) = (Vec::new(), most);
    add_tree(folder, "", is_left_out, &mut left, &mut files)?;
    files.sort_unstable();
    Some(files)
}

/// Adds the files in a folder, with `inside` before their names. At most `left` more files and
/// folders are looked at.
fn add_tree(
    folder: &Path,
    inside: &str,
    is_left_out: fn(&str) -> bool,
    left: &mut usize,
    files: &mut Vec<String>,
) -> Option<()> {
    let Ok(entries) = fs::read_dir(folder) else { return Some(()) };
    for entry in entries {
        let Ok(entry) = entry else { continue };
        *left = left.checked_sub(1)?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if !entry.file_type().is_ok_and(|it| it.is_dir()) {
            files.push(format!("{inside}{name}"));
        } else if !is_left_out(&name) {
            add_tree(&entry.path(), &format!("{inside}{name}/"), is_left_out, left, files)?;
        }
    }
    Some(())
}

/// Removes a file or a link, if it is there.
fn remove_file(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Whether the next bytes of `file` equal `expected`.
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
        let tree = |most| tree(folder.path(), most, |name| name == "target");
        assert_eq!(tree(6).unwrap(), ["a.txt", "b/c.txt"]);
        assert_eq!(tree(5), None);
    }
}

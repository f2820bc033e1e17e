//! Files that a build writes. Each file is written completely or not at all, whatever error or
//! signal ends the build; a power cut may leave an empty file. Files whose contents do not change
//! are left alone.

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

//! A file to write to.

use super::{Input, interrupt};
use offload_format::layout::{Layout, Piece};
use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// A file that appears when it is [committed](Output::commit), and not at all after an error or a
/// signal. Standard output, pipes and devices are written directly.
#[derive(Debug)]
pub struct Output(Sink);

#[derive(Debug)]
enum Sink {
    Whole {
        file: File,
        unfinished: Unfinished,
        path: PathBuf,
    },
    /// A file that cannot be replaced: a pipe, a device.
    Direct(File),
    Stdout(io::Stdout),
}

/// The source of a payload's bytes in a layout.
#[derive(Debug, Clone)]
pub enum PayloadSource<'a> {
    /// Bytes in memory.
    Bytes(&'a [u8]),
    /// A byte range of a file.
    Part(&'a Input, Range<u64>),
}

/// Returns the bytes that a layout describes; `payloads[index]` is the source of the payload with
/// this index.
///
/// # Panics
/// Panics if a payload is missing or its size differs from that in the layout.
pub fn read_layout(layout: &Layout, payloads: &[PayloadSource<'_>]) -> io::Result<Vec<u8>> {
    let mut out = Vec::new();
    let no_memory = |_| io::Error::from(io::ErrorKind::OutOfMemory);
    out.try_reserve_exact(usize::try_from(layout.size()).unwrap_or(usize::MAX))
        .map_err(no_memory)?;
    for piece in layout.pieces() {
        match piece {
            Piece::Bytes(bytes) => out.extend_from_slice(bytes),
            Piece::Zeros(size) => out.resize(out.len() + *size as usize, 0),
            Piece::Payload { index, size } => {
                match PayloadSource::checked(payloads, *index, *size) {
                    PayloadSource::Bytes(bytes) => out.extend_from_slice(bytes),
                    PayloadSource::Part(input, range) => input.read_to(range, &mut out)?,
                }
            }
        }
    }
    Ok(out)
}

impl<'a> PayloadSource<'a> {
    /// Returns the source of all bytes of a file.
    pub fn file(input: &'a Input) -> Self {
        Self::Part(input, 0..input.size())
    }

    /// Returns the source with this index, after checking its size in bytes.
    fn checked(payloads: &[Self], index: usize, size: u64) -> &Self {
        let found = match &payloads[index] {
            Self::Bytes(bytes) => bytes.len() as u64,
            Self::Part(_, range) => range.end - range.start,
        };
        assert_eq!(found, size, "payload {index} has a different size than in the layout");
        &payloads[index]
    }
}

impl Output {
    /// Starts to write a file. An existing file stays unchanged until the new one is committed.
    ///
    /// Returns an error if the path is a folder, if the file is not writable, or if its folder is
    /// missing or not writable.
    pub fn create(path: &Path) -> io::Result<Self> {
        match fs::metadata(path) {
            Ok(metadata) if metadata.is_file() => Self::over(fs::canonicalize(path)?, &metadata),
            // For a folder, this line returns the system's error.
            Ok(_) => Ok(Self(Sink::Direct(OpenOptions::new().write(true).open(path)?))),
            // Windows has no metadata for devices such as `NUL`, but can write to them.
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                let device = OpenOptions::new().write(true).open(path);
                device
                    .ok()
                    .filter(|_| cfg!(windows))
                    .map_or(Err(error), |device| Ok(Self(Sink::Direct(device))))
            }
            // The path is a link to a missing file: create the link's target.
            Err(_) => match fs::read_link(path) {
                Ok(target) => Self::create(&path.parent().unwrap_or(Path::new("")).join(target)),
                Err(_) => Self::beside(path.to_owned(), None),
            },
        }
    }

    /// Starts to write a file whose name comes from inside a different file. If a link, pipe or
    /// device has that name, it is replaced and never written to, because the user did not choose
    /// the name.
    ///
    /// Returns an error in the same cases as [`Output::create`].
    pub fn create_in_folder(path: &Path) -> io::Result<Self> {
        match fs::symlink_metadata(path) {
            Ok(metadata) if metadata.is_file() => Self::over(path.to_owned(), &metadata),
            // For a folder, this call returns the system's error.
            Ok(metadata) if metadata.is_dir() => Self::create(path),
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Self::beside(path.to_owned(), None),
        }
    }

    /// Starts to write an output from the command line like [`Output::create`]; `-` is standard
    /// output.
    pub fn named(path: &OsStr) -> io::Result<Self> {
        if path == "-" {
            Ok(Self(Sink::Stdout(io::stdout())))
        } else {
            Self::create(Path::new(path))
        }
    }

    /// Starts to write a file that replaces a regular file.
    fn over(path: PathBuf, metadata: &fs::Metadata) -> io::Result<Self> {
        // Open the old file for writing to check that it may be overwritten.
        OpenOptions::new().write(true).open(&path)?;
        Self::beside(path, Some(metadata.permissions()))
    }

    fn beside(path: PathBuf, permissions: Option<fs::Permissions>) -> io::Result<Self> {
        static COUNT: AtomicU32 = AtomicU32::new(0);

        // The path cannot name a file, so return the error of opening it.
        if path.file_name().is_none() || path.as_os_str().as_encoded_bytes().ends_with(b"/") {
            return File::create(&path).map(|file| Self(Sink::Direct(file)));
        }
        loop {
            let count = COUNT.fetch_add(1, Ordering::Relaxed);
            let unfinished =
                path.with_file_name(format!(".offload-{}-{count}.tmp", std::process::id()));
            interrupt::add(&unfinished);
            match OpenOptions::new().write(true).create_new(true).open(&unfinished) {
                Ok(file) => {
                    let unfinished = Unfinished(unfinished);
                    if let Some(permissions) = permissions {
                        file.set_permissions(permissions)?;
                    }
                    return Ok(Self(Sink::Whole { file, unfinished, path }));
                }
                Err(error) => {
                    interrupt::remove(&unfinished);
                    // An earlier process with the same ID left a file with this name: try the next
                    // name.
                    if error.kind() != io::ErrorKind::AlreadyExists {
                        return Err(error);
                    }
                }
            }
        }
    }

    /// Adds the bytes of `source`.
    pub fn copy(&mut self, source: &PayloadSource<'_>) -> io::Result<()> {
        let (input, range) = match source {
            PayloadSource::Bytes(bytes) => return self.write_all(bytes),
            PayloadSource::Part(input, range) => (input, range),
        };
        match &self.0 {
            Sink::Whole { file, .. } | Sink::Direct(file) => input.copy_to(range, file),
            Sink::Stdout(_) => self.write_all(input.part(range)),
        }
    }

    /// Appends the bytes that a layout describes; `payloads[index]` is the source of the payload
    /// with this index.
    ///
    /// # Panics
    /// Panics if a payload is missing or its size differs from that in the layout.
    pub fn layout(&mut self, layout: &Layout, payloads: &[PayloadSource<'_>]) -> io::Result<()> {
        for piece in layout.pieces() {
            match piece {
                Piece::Bytes(bytes) => self.write_all(bytes)?,
                Piece::Zeros(size) => drop(io::copy(&mut io::repeat(0).take(*size), self)?),
                Piece::Payload { index, size } => {
                    self.copy(PayloadSource::checked(payloads, *index, *size))?;
                }
            }
        }
        Ok(())
    }

    /// Completes the file and moves it to its final path. The file may not be on the disk yet, so
    /// it may be empty after a power failure.
    pub fn commit(mut self) -> io::Result<()> {
        self.flush()?;
        match self.0 {
            Sink::Whole { unfinished, path, file } => {
                drop(file);
                // If the files were exchanged, `unfinished` now names the old file, and removes it
                // when dropped.
                if trade_places(&unfinished.0, &path) {
                    Ok(())
                } else {
                    fs::rename(&unfinished.0, path)
                }
            }
            Sink::Direct(_) | Sink::Stdout(_) => Ok(()),
        }
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.0 {
            Sink::Whole { file, .. } | Sink::Direct(file) => file.write(bytes),
            Sink::Stdout(stdout) => stdout.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.0 {
            Sink::Whole { file, .. } | Sink::Direct(file) => file.flush(),
            Sink::Stdout(stdout) => stdout.flush(),
        }
    }
}

/// Exchanges the new file with the existing one; returns `false` if there is no existing file or
/// the system cannot exchange files.
///
/// An exchange is faster than renaming over the old file, because when a rename replaces a file,
/// ext4 writes the new file to the disk, which takes longer than everything else.
#[cfg(target_os = "linux")]
fn trade_places(new: &Path, old: &Path) -> bool {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    renameat_with(CWD, new, CWD, old, RenameFlags::EXCHANGE).is_ok()
}

#[cfg(not(target_os = "linux"))]
fn trade_places(_: &Path, _: &Path) -> bool {
    false
}

/// An unfinished file, removed when this value is dropped.
#[derive(Debug)]
struct Unfinished(PathBuf);

impl Drop for Unfinished {
    fn drop(&mut self) {
        // After a commit by a rename, no file has this name, so ignore the error.
        let _ = fs::remove_file(&self.0);
        interrupt::remove(&self.0);
    }
}

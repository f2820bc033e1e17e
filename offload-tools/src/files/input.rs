//! A file to read from.

use super::interrupt;
use memmap2::Mmap;
use std::ffi::OsStr;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::Path;

/// The bytes of a file. A regular file is mapped, and any other file is read to its end. On
/// Windows and on some file systems, regular files may be read, too.
#[derive(Debug)]
pub struct Input(Bytes);

/// The maximum number of bytes to read from a pipe into memory.
const STREAM_LIMIT: u64 = 1 << 32;

#[derive(Debug)]
enum Bytes {
    Mapped { file: File, map: Mmap },
    Read(Vec<u8>),
}

impl Input {
    /// Opens a file or pipe. Returns an error for a folder, and for a device that is not empty.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        // Read files of size 0, because files generated on reading, as in /proc, also report this
        // size. For a folder, reading returns the system's error.
        match file.metadata() {
            Ok(metadata) if metadata.is_file() && metadata.len() > 0 => Self::regular(file),
            // `/dev/null` is empty; reading any other device may never end.
            Ok(metadata) if is_device(&metadata) => Self::read(file, 0),
            // Windows has no metadata for devices such as `NUL`, but can read them.
            Err(error) if !cfg!(windows) => Err(error),
            _ => Self::read(file, STREAM_LIMIT),
        }
    }

    /// Returns an input for an open regular file that no output will replace. The file may be
    /// empty.
    pub fn of_file(file: File) -> io::Result<Self> {
        if file.metadata()?.len() == 0 { Ok(Self::of_bytes(Vec::new())) } else { Self::map(file) }
    }

    /// Returns an input for an open regular file that an output may later replace. On Windows the
    /// file is read, because a mapped file cannot be replaced.
    fn regular(file: File) -> io::Result<Self> {
        if cfg!(windows) { Self::read(file, u64::MAX) } else { Self::of_file(file) }
    }

    /// Reads to the end; returns an error if there are more than `most` bytes.
    fn read(from: impl Read, most: u64) -> io::Result<Self> {
        let mut bytes = Vec::new();
        from.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > most {
            let what = match most {
                0 => "it is a device, which may have no end",
                _ => "it is not a regular file, and is larger than 4 GiB",
            };
            return Err(io::Error::other(format!("{what}; copy the content to a file")));
        }
        Ok(Self(Bytes::Read(bytes)))
    }

    /// Maps a non-empty regular file.
    fn map(file: File) -> io::Result<Self> {
        interrupt::clean_up_when_signalled();
        // SAFETY: The mapping is only read. Another process that writes to the file changes bytes
        // behind a shared reference. Readers therefore copy each number before checking it, so that
        // they see only one value, and never create a `str` from unchecked bytes. If a process
        // truncates the file, a signal ends this process.
        let map = unsafe { Mmap::map(&file) };
        match map {
            Ok(map) => Ok(Self(Bytes::Mapped { file, map })),
            // Some file systems, such as sysfs, cannot map files.
            Err(_) => Self::read(file, u64::MAX),
        }
    }

    /// Opens the file of a thin archive's member.
    ///
    /// Returns an error unless the file is regular, because reading a device may never end, and
    /// opening a device may have side effects.
    pub fn open_thin_member(path: &Path) -> io::Result<Self> {
        let metadata = fs::metadata(path)?;
        if metadata.is_dir() {
            // For a folder, this call returns the system's error.
            return Self::open(path);
        }
        // Check before and after opening, because a different file may get the name in between.
        check_regular(&metadata)?;
        let mut options = OpenOptions::new();
        options.read(true);
        // Without `O_NONBLOCK`, opening a pipe would wait for a writer. Regular files ignore the
        // flags.
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::custom_flags(
            &mut options,
            libc::O_NONBLOCK | libc::O_NOCTTY,
        );
        let file = options.open(path)?;
        let metadata = file.metadata()?;
        check_regular(&metadata)?;
        // Treat a file in /proc, whose size is 0, as empty, because some of these files never end.
        Self::regular(file)
    }

    /// Opens a file from the command line like [`Input::open`]; `-` is standard input.
    pub fn named(path: &OsStr) -> io::Result<Self> {
        if path == "-" { Self::stdin() } else { Self::open(Path::new(path)) }
    }

    pub fn stdin() -> io::Result<Self> {
        Self::read(io::stdin().lock(), STREAM_LIMIT)
    }

    pub fn of_bytes(bytes: Vec<u8>) -> Self {
        Self(Bytes::Read(bytes))
    }

    pub fn bytes(&self) -> &[u8] {
        match &self.0 {
            Bytes::Mapped { map, .. } => map,
            Bytes::Read(bytes) => bytes,
        }
    }

    pub fn size(&self) -> u64 {
        self.bytes().len() as u64
    }

    /// Appends the byte range `range` of the file to `out`. Reads a mapped file without using the
    /// mapping, so that only `out` needs memory.
    ///
    /// # Panics
    /// Panics if the range extends past the size that the file had when it was opened.
    pub fn read_to(&self, range: &Range<u64>, out: &mut Vec<u8>) -> io::Result<()> {
        let size = self.part(range).len() as u64;
        match &self.0 {
            Bytes::Mapped { file, .. } => {
                let mut file: &File = file;
                file.seek(SeekFrom::Start(range.start))?;
                if file.take(size).read_to_end(out)? as u64 == size {
                    Ok(())
                } else {
                    Err(shrunk())
                }
            }
            Bytes::Read(_) => {
                out.extend_from_slice(self.part(range));
                Ok(())
            }
        }
    }

    /// Copies the byte range `range` of the input to the file `to`. Several threads may copy at the
    /// same time.
    ///
    /// # Panics
    /// Panics if the range extends past the size that the file had when it was opened.
    pub(super) fn copy_to(&self, range: &Range<u64>, mut to: &File) -> io::Result<()> {
        let bytes = self.part(range);
        #[cfg(target_os = "linux")]
        if let Bytes::Mapped { file, .. } = &self.0 {
            return self.copy_in_kernel(file, range.clone(), to);
        }
        to.write_all(bytes)
    }

    /// Copies from file to file in the operating system's kernel. Some file systems then share the
    /// blocks instead of copying them.
    #[cfg(target_os = "linux")]
    fn copy_in_kernel(&self, from: &File, mut range: Range<u64>, mut to: &File) -> io::Result<()> {
        while range.start < range.end {
            let left = usize::try_from(range.end - range.start).unwrap_or(usize::MAX);
            match rustix::fs::copy_file_range(from, Some(&mut range.start), to, None, left) {
                Ok(0) => return Err(shrunk()),
                Ok(_) => {}
                // If the disk is full, other ways of writing fail, too.
                Err(rustix::io::Errno::NOSPC) => return Err(rustix::io::Errno::NOSPC.into()),
                // The operating system's kernel cannot copy these files. For example, one file is a
                // device, or the files are on different file systems, one of which is old or
                // unusual.
                Err(_) => return to.write_all(self.part(&range)),
            }
        }
        Ok(())
    }

    /// Returns the byte range `range` of the file.
    ///
    /// # Panics
    /// Panics if the range extends past the size that the file had when it was opened.
    pub fn part(&self, range: &Range<u64>) -> &[u8] {
        part(self.bytes(), range)
    }
}

/// Returns the byte range `range` of `bytes`.
///
/// # Panics
/// Panics if the range is outside the bytes.
pub fn part<'a>(bytes: &'a [u8], range: &Range<u64>) -> &'a [u8] {
    let at = |offset| usize::try_from(offset).unwrap_or(usize::MAX);
    &bytes[at(range.start)..at(range.end)]
}

/// Returns an error unless the metadata describes a regular file.
fn check_regular(metadata: &Metadata) -> io::Result<()> {
    let what = "members of thin archives must be regular files; copy the content to a \
                regular file";
    if metadata.is_file() { Ok(()) } else { Err(io::Error::other(what)) }
}

fn is_device(metadata: &Metadata) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        let kind = metadata.file_type();
        kind.is_char_device() || kind.is_block_device()
    }
    #[cfg(not(unix))]
    {
        let _ = metadata;
        false
    }
}

fn shrunk() -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, "the input was truncated while it was read")
}

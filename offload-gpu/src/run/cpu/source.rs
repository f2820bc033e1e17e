//! The file from which the loader reads an image for the CPU: in memory if the system supports it,
//! otherwise on disk. The loader identifies libraries by their paths, and never unloads some of
//! them, so each image gets a path that is new in this process.

use crate::text::contains;
use alloc::format;
use alloc::string::String;
use std::collections::hash_map::{DefaultHasher, RandomState};
use std::env;
use std::env::consts;
use std::ffi::OsString;
#[cfg(target_os = "linux")]
use std::fs::File;
use std::fs::{self, OpenOptions};
use std::hash::{BuildHasher, Hasher};
use std::io::Write;
use std::path::{self, Path, PathBuf};
use std::process;

/// The file or memory from which the loader reads.
pub(super) enum ImageSource {
    /// A file in memory, open as long as the image is loaded. Debuggers and sanitizers, even in
    /// other processes, read line numbers through its path.
    #[cfg(target_os = "linux")]
    Memory { path: PathBuf, _file: File },
    /// A file on disk that only this process uses.
    Disk(TemporaryFile),
    /// A file beside the launch log, kept as long as the image is loaded.
    Logged(TemporaryFile),
    /// The file was removed after the image was loaded.
    Gone,
}

impl ImageSource {
    /// Creates a source. For a checked image, `log` is the path of the launch log, if there is one.
    pub(super) fn new(bytes: &[u8], log: Option<OsString>) -> Result<Self, String> {
        if let Some(log) = log {
            return Self::in_log(bytes, log);
        }
        #[cfg(target_os = "linux")]
        if let Some(file) = in_memory(bytes)
            && let Some(path) = path_in_proc(&file)
        {
            return Ok(Self::Memory { path, _file: file });
        }
        let name = format!("offload-{}-{:016x}{}", process::id(), random(), consts::DLL_SUFFIX);
        TemporaryFile::create(env::temp_dir().join(name), bytes).map(Self::Disk)
    }

    /// Creates a file beside the launch log. Tools that read reports find the source lines through
    /// a link to the file, `LOG-HASH.so`, which is never removed. The file's own name also contains
    /// a random number.
    fn in_log(bytes: &[u8], log: OsString) -> Result<Self, String> {
        let mut hasher = DefaultHasher::new();
        hasher.write(bytes);
        // The loader searches its own folders for a name without a separator.
        let mut link = path::absolute(&log).map_or(log, PathBuf::into_os_string);
        link.push(format!("-{:016x}", hasher.finish()));
        let mut path = link.clone();
        path.push(format!("-{:016x}.so", random()));
        link.push(".so");
        let file = TemporaryFile::create(path.into(), bytes)?;
        // The link may exist already. Without it, reports lack source lines.
        let _ = fs::hard_link(&file.0, link);
        Ok(Self::Logged(file))
    }

    pub(super) fn path(&self) -> &Path {
        match self {
            #[cfg(target_os = "linux")]
            Self::Memory { path, .. } => path,
            Self::Disk(file) | Self::Logged(file) => &file.0,
            Self::Gone => Path::new(""),
        }
    }

    /// Returns advice for the loader's message about a failure; empty if there is none.
    pub(super) fn hint(&self, reason: &str) -> String {
        match self {
            Self::Disk(_) if may_be_noexec(reason) => format!(
                "\nIf {} does not allow programs to run (noexec), set TMPDIR to a folder that does.",
                env::temp_dir().display()
            ),
            _ => String::new(),
        }
    }

    /// Returns the source that must be kept while the library is loaded.
    pub(super) fn once_loaded(self) -> Self {
        match self {
            // On Unix, a loaded library does not need its file. Remove the file now: a program that
            // aborts, or never drops its device, would leave the file on disk.
            Self::Disk(_) if cfg!(unix) => Self::Gone,
            other => other,
        }
    }
}

/// Whether the loader may have failed because a folder is mounted with `noexec`, the only case in
/// which a different temporary folder helps.
fn may_be_noexec(reason: &str) -> bool {
    // The first message is from glibc. The others are errors of mmap, which musl and other
    // libraries report.
    let reasons = ["failed to map segment", "Operation not permitted", "Permission denied"];
    cfg!(unix) && reasons.iter().any(|known| contains(reason, known))
}

/// Returns an in-memory file with these bytes, if the system supports it.
#[cfg(target_os = "linux")]
fn in_memory(bytes: &[u8]) -> Option<File> {
    use core::ffi::{c_char, c_int, c_uint};
    use std::os::fd::FromRawFd;
    unsafe extern "C" {
        fn memfd_create(name: *const c_char, flags: c_uint) -> c_int;
    }
    const MFD_CLOEXEC: c_uint = 1;
    // SAFETY: the name ends with a NUL.
    let descriptor = unsafe { memfd_create(c"offload".as_ptr(), MFD_CLOEXEC) };
    if descriptor < 0 {
        return None;
    }
    // SAFETY: the descriptor was just opened, and nothing else has it.
    let mut file = unsafe { File::from_raw_fd(descriptor) };
    file.write_all(bytes).ok().map(|()| file)
}

/// Returns a new path in `/proc` to an open file. Returns `None` if the path does not lead to this
/// file: `/proc` may be missing, or show other processes.
#[cfg(target_os = "linux")]
fn path_in_proc(file: &File) -> Option<PathBuf> {
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::MetadataExt;
    // The path contains this process's ID, since other processes, such as debuggers, also read the
    // file. In `/proc`, the process may have a different ID.
    let own = fs::read_link("/proc/self").ok()?;
    let path = Path::new("/proc").join(own).join("fd");
    let path = format!("{}/{}{}", path.to_str()?, detour(random()), file.as_raw_fd()).into();
    let found = File::open(&path).and_then(|found| found.metadata()).ok()?;
    let own = file.metadata().ok()?;
    ((found.dev(), found.ino()) == (own.dev(), own.ino())).then_some(path)
}

/// Returns a path component that has no effect, but differs for each number: `./` for each binary
/// digit 1, and `/` for each 0. Without it, paths would repeat, because new descriptors reuse the
/// numbers of closed ones.
#[cfg(target_os = "linux")]
fn detour(number: u64) -> String {
    let digits = format!("{number:b}");
    digits.chars().map(|digit| if digit == '1' { "./" } else { "/" }).collect()
}

/// Returns a random number, different for each call and each copy of this crate in the process.
/// Rust's standard hash tables have random keys, so even the hash of no data is random.
fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// A file that only this process uses. Dropping the value removes the file.
pub(super) struct TemporaryFile(PathBuf);

impl TemporaryFile {
    fn create(path: PathBuf, contents: &[u8]) -> Result<Self, String> {
        let failed = |error| format!("it could not be written to {}: {error}", path.display());
        // `create_new` fails if the path exists, even as a link, so no other user can have prepared
        // the file.
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o700);
        let mut file = options.open(&path).map_err(failed)?;
        let written = file.write_all(contents).map_err(failed);
        let this = Self(path);
        written?;
        Ok(this)
    }
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        // Ignore a temporary file that cannot be removed.
        let _ = fs::remove_file(&self.0);
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::{ImageSource, TemporaryFile};

    #[test]
    fn another_folder_is_advised_only_where_it_may_help() {
        let file = || TemporaryFile("/nonexistent/a.so".into());
        let (disk, logged) = (ImageSource::Disk(file()), ImageSource::Logged(file()));
        for (reason, may_help) in [
            ("/tmp/a.so: failed to map segment from shared object", true),
            ("Error loading shared library /tmp/a.so: Operation not permitted", true),
            ("/tmp/a.so: undefined symbol: missing", false),
            ("Dynamic loading not supported", false),
        ] {
            assert_eq!(disk.hint(reason).contains("set TMPDIR"), may_help, "{reason}");
            assert_eq!(disk.hint(reason).is_empty(), !may_help, "{reason}");
            assert_eq!(logged.hint(reason), "", "{reason}");
        }
    }

    #[test]
    fn the_loader_gets_a_path_with_a_folder() {
        let log = alloc::format!("offload-log-{}", std::process::id());
        let source = ImageSource::new(b"bytes", Some(log.into())).unwrap();
        let path = source.path().to_str().unwrap();
        // Without the random number.
        let link = alloc::format!("{}.so", path.rsplit_once('-').unwrap().0);
        std::fs::remove_file(link).unwrap();
        assert!(source.path().is_absolute(), "{path}");
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_descriptor_has_a_path_that_it_never_had() {
        let file = super::in_memory(b"bytes").unwrap();
        let paths: alloc::vec::Vec<_> =
            (0..100).map(|_| super::path_in_proc(&file).unwrap()).collect();
        for (at, path) in paths.iter().enumerate() {
            assert_eq!(std::fs::read(path).unwrap(), b"bytes");
            // Compare the paths as text, like the loader: Rust's comparison of paths ignores `.`
            // and `//`.
            assert!(paths[..at].iter().all(|other| other.as_os_str() != path.as_os_str()));
        }
    }
}

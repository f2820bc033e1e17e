//! Loads images for the CPU: from memory if the system allows it, otherwise from a file that is
//! removed at once.

use super::super::library::address;
use super::Address;
use super::check::{Checked, Settings};
use super::log;
use crate::text::contains;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::error::Error;
use core::ffi::{CStr, c_uint, c_void};
use core::mem::{self, ManuallyDrop};
use core::ptr::{self, NonNull};
use libloading::Library;
use std::collections::hash_map::{DefaultHasher, RandomState};
use std::env;
use std::env::consts;
use std::ffi::OsString;
#[cfg(target_os = "linux")]
use std::fs::File;
use std::fs::{self, OpenOptions};
use std::hash::{BuildHasher, Hasher};
use std::io::Write;
use std::path::PathBuf;
use std::process;
use std::sync::{Mutex, PoisonError};

/// A function that calls `thread(context)` once for each thread of the blocks from `first` to
/// before `end`.
pub(super) type LaunchBlocks = unsafe extern "C" fn(
    grid: *const c_uint,
    block: *const c_uint,
    first: u64,
    end: u64,
    shared: usize,
    thread: unsafe extern "C" fn(*mut c_void),
    context: *mut c_void,
);

/// A function like [`LaunchBlocks`], but with settings. In a checked image, it returns the number
/// of findings.
pub(super) type LaunchWith = unsafe extern "C" fn(
    grid: *const c_uint,
    block: *const c_uint,
    first: u64,
    end: u64,
    shared: usize,
    thread: unsafe extern "C" fn(*mut c_void),
    context: *mut c_void,
    settings: *const Settings,
) -> c_uint;

/// The functions of an image that run blocks.
#[derive(Clone, Copy)]
pub(super) struct Launchers {
    pub(super) blocks: LaunchBlocks,
    /// A function that runs blocks with settings; `None` if an earlier version of offload-build
    /// made the image.
    pub(super) with: Option<LaunchWith>,
    /// Whether a sanitizer checks the image's kernels.
    pub(super) is_checked: bool,
}

/// A loaded image for the CPU.
pub(super) struct LoadedImage {
    library: ManuallyDrop<Library>,
    launchers: Launchers,
    /// Handles that [`LoadedImage::kernel`] returned.
    kernels: Mutex<Vec<Handed>>,
    source: ManuallyDrop<Source>,
}

/// A kernel of an image.
pub(super) struct Kernel {
    pub(super) address: Address,
    pub(super) launchers: Launchers,
}

/// A kernel on the heap, which the loaded image must free.
struct Handed(*mut Kernel);

// SAFETY: the data is only read, and functions may be called on every thread.
unsafe impl Send for Handed {}

impl LoadedImage {
    /// Loads an image from its bytes, or returns an error in words.
    pub(super) fn load(bytes: &[u8]) -> Result<Self, String> {
        if IS_STATIC {
            return Err(STATIC.to_string());
        }
        let (checked, bytes) = Checked::choose(bytes)?;
        let source = Source::new(bytes, checked.is_some())?;
        let path = source.path();
        // SAFETY: this program's build compiled the image, which runs only code of its source when
        // it is loaded or unloaded.
        let library = unsafe { Library::new(&path) }.map_err(|error| {
            let reason = error.source().map_or_else(|| error.to_string(), ToString::to_string);
            let of_check = checked.as_ref().map(Checked::hint).unwrap_or_default();
            format!("{reason}{}{of_check}", source.hint(&reason))
        })?;
        let blocks = address(&library, b"offload_cpu_launch_blocks\0").ok_or(
            "it has no function offload_cpu_launch_blocks: build it with this version of offload-build",
        )?;
        // SAFETY: `offload/cpu.h` declares the function with this type.
        let blocks = unsafe { mem::transmute::<NonNull<c_void>, LaunchBlocks>(blocks) };
        let with = address(&library, b"offload_cpu_launch_with\0");
        // SAFETY: `offload/schedule.h` declares the function with this type.
        let with = with.map(|it| unsafe { mem::transmute::<NonNull<c_void>, LaunchWith>(it) });
        let launchers = Launchers { blocks, with, is_checked: checked.is_some() };
        let source = ManuallyDrop::new(source.once_loaded());
        Ok(Self {
            library: ManuallyDrop::new(library),
            launchers,
            kernels: Mutex::default(),
            source,
        })
    }

    pub(super) fn function(&self, name: &CStr) -> Option<Address> {
        address(&self.library, name.to_bytes_with_nul()).map(NonNull::as_ptr)
    }

    /// Returns the handle of a kernel, which is valid as long as the image is loaded.
    pub(super) fn kernel(&self, address: Address) -> *mut c_void {
        let kernel = Box::into_raw(Box::new(Kernel { address, launchers: self.launchers }));
        self.kernels.lock().unwrap_or_else(PoisonError::into_inner).push(Handed(kernel));
        kernel.cast()
    }

    /// Returns the address of the loader's object for the library, which the loader's functions
    /// need.
    pub(super) fn raw(&self) -> *mut c_void {
        // libloading returns the handle only if it consumes the `Library`, so this function
        // consumes a copy. SAFETY: the copy is consumed at once, and does not close the library.
        let copy = unsafe { ptr::read(&*self.library) };
        raw_handle(copy)
    }
}

#[cfg(unix)]
fn raw_handle(library: Library) -> *mut c_void {
    libloading::os::unix::Library::from(library).into_raw()
}

#[cfg(windows)]
fn raw_handle(library: Library) -> *mut c_void {
    libloading::os::windows::Library::from(library).into_raw() as *mut c_void
}

impl Drop for LoadedImage {
    fn drop(&mut self) {
        for Handed(kernel) in
            self.kernels.get_mut().unwrap_or_else(PoisonError::into_inner).drain(..)
        {
            // SAFETY: `kernel` returned this pointer, and nothing is launched any more.
            drop(unsafe { Box::from_raw(kernel) });
        }
        // SAFETY: neither value is used again. Close the library first: Windows removes no file
        // that is loaded. Also, a file in memory stays open until the library is closed. The file's
        // path contains the descriptor's number, and the loader recognizes a library by its path.
        unsafe {
            ManuallyDrop::drop(&mut self.library);
            ManuallyDrop::drop(&mut self.source);
        }
    }
}

/// The file or memory from which the loader reads.
enum Source {
    /// A file in memory, without a name. The loader recognizes a library by its path, which
    /// contains the descriptor's number.
    #[cfg(target_os = "linux")]
    Memory(File),
    /// A file that only this process uses.
    Temporary(TemporaryFile),
    /// The file was removed after the image was loaded.
    Gone,
}

impl Source {
    fn new(bytes: &[u8], is_checked: bool) -> Result<Self, String> {
        // A checked image needs no temporary file for debuggers: sanitizers can also read a file in
        // memory. A sanitizer ends the program after a finding, so a temporary file would stay on
        // disk.
        if is_checked && let Some(log) = log::path() {
            return Self::in_log(bytes, log);
        }
        let is_for_debuggers = !is_checked && is_for_debuggers(bytes);
        #[cfg(target_os = "linux")]
        if !is_for_debuggers && let Some(file) = in_memory(bytes) {
            return Ok(Self::Memory(file));
        }
        let name = format!("{}{:016x}{}", own_prefix(), random(), consts::DLL_SUFFIX);
        let path = env::temp_dir().join(name);
        TemporaryFile::create(path, bytes, is_for_debuggers).map(Self::Temporary)
    }

    /// Returns a file beside the log of launches. A tool that reads reports gets the source lines
    /// from a link to the file, `LOG-HASH.so`, which stays. The file's name is that of the link
    /// with a random number.
    fn in_log(bytes: &[u8], log: OsString) -> Result<Self, String> {
        let mut hasher = DefaultHasher::new();
        hasher.write(bytes);
        let mut link = log;
        link.push(format!("-{:016x}", hasher.finish()));
        let mut path = link.clone();
        path.push(format!("-{:016x}.so", random()));
        link.push(".so");
        let file = TemporaryFile::create(path.into(), bytes, true)?;
        // The link may be there already. Without it, reports have fewer source lines.
        let _ = fs::hard_link(&file.path, link);
        Ok(Self::Temporary(file))
    }

    fn path(&self) -> PathBuf {
        match self {
            #[cfg(target_os = "linux")]
            Self::Memory(file) => {
                // Name the process by its number: a sanitizer may have another process read the
                // file.
                format!("/proc/{}/fd/{}", process::id(), std::os::fd::AsRawFd::as_raw_fd(file))
                    .into()
            }
            Self::Temporary(file) => file.path.clone(),
            Self::Gone => PathBuf::new(),
        }
    }

    /// Returns advice for a failure to load, from the loader's message; empty if there is none.
    fn hint(&self, reason: &str) -> String {
        match self {
            Self::Temporary(_) if may_be_noexec(reason) => format!(
                "\nIf {} does not allow programs to run (noexec), set TMPDIR to a folder that does.",
                env::temp_dir().display()
            ),
            _ => String::new(),
        }
    }

    /// Returns the source to keep while the library is loaded; removes a file that the library no
    /// longer needs.
    fn once_loaded(self) -> Self {
        match self {
            // On Unix, a loaded library no longer needs its file. The file is removed now, so it
            // does not stay on disk if a kernel crashes.
            Self::Temporary(file) if cfg!(unix) && !file.is_for_debuggers => Self::Gone,
            other => other,
        }
    }
}

/// Whether this program has no loader for shared libraries, because it is linked statically with
/// musl. A static program with glibc has a loader.
const IS_STATIC: bool = cfg!(all(target_env = "musl", target_feature = "crt-static"));

/// The message for a program without a loader: why it cannot load images for the CPU, and advice.
const STATIC: &str = "this program is static, and musl loads code into dynamic programs only: build it with \
     RUSTFLAGS=-Ctarget-feature=-crt-static, or for a target with glibc, or leave `cpu` out of the targets";

/// Whether the loader failed because a folder is mounted with `noexec`. Another temporary folder
/// helps only against this failure.
fn may_be_noexec(reason: &str) -> bool {
    // The first message is glibc's; the others are errors of mmap, which musl and others report.
    let reasons = ["failed to map segment", "Operation not permitted", "Permission denied"];
    cfg!(unix) && reasons.iter().any(|known| contains(reason, known))
}

/// Whether the image has the sections that debuggers read from a library's file.
fn is_for_debuggers(bytes: &[u8]) -> bool {
    const NAME: &[u8] = b".debug_info\0";
    bytes.windows(NAME.len()).any(|part| part == NAME)
}

/// Returns a file in memory with these bytes, if the system supports such files.
#[cfg(target_os = "linux")]
fn in_memory(bytes: &[u8]) -> Option<File> {
    use core::ffi::{c_char, c_int};
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

/// A file that only this process uses. Dropping the value removes the file.
struct TemporaryFile {
    path: PathBuf,
    is_for_debuggers: bool,
}

impl TemporaryFile {
    fn create(path: PathBuf, contents: &[u8], is_for_debuggers: bool) -> Result<Self, String> {
        let failed = |error| format!("it could not be written to {}: {error}", path.display());
        // `create_new` fails if anything, even a link, is already there, so no other user can have
        // prepared the file.
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o700);
        let mut file = options.open(&path).map_err(failed)?;
        let written = file.write_all(contents).map_err(failed);
        let this = Self { path, is_for_debuggers };
        written?;
        Ok(this)
    }
}

/// Returns a random number.
fn random() -> u64 {
    // The keys of the standard hash tables are random, so the hash of no data is random, too.
    RandomState::new().build_hasher().finish()
}

/// Returns the common start of the names of this process's files.
fn own_prefix() -> String {
    format!("offload-{}-", process::id())
}

/// Removes the temporary files of all images, before the process ends without running destructors.
pub(super) fn remove_files() {
    let prefix = own_prefix();
    for entry in fs::read_dir(env::temp_dir()).into_iter().flatten().flatten() {
        if entry.file_name().to_str().is_some_and(|name| name.starts_with(&prefix)) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        // A file that cannot be removed from the temporary folder is not worth an error.
        let _ = fs::remove_file(&self.path);
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::may_be_noexec;

    #[test]
    fn another_folder_is_advised_only_where_it_may_help() {
        assert!(may_be_noexec("/tmp/a.so: failed to map segment from shared object"));
        assert!(may_be_noexec("Error loading shared library /tmp/a.so: Operation not permitted"));
        assert!(!may_be_noexec("/tmp/a.so: undefined symbol: missing"));
        assert!(!may_be_noexec("Dynamic loading not supported"));
    }
}

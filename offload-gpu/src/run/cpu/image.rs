//! Loads images for the CPU.

use super::super::backend::{Handle, Place};
use super::super::library::address;
use super::check::{self, Settings};
use super::log;
use super::running::NoAccess;
use super::source::ImageSource;
use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::ffi::CString;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::error::Error;
use core::ffi::{CStr, c_char, c_uint, c_void};
use core::mem;
use core::ptr::{self, NonNull};
use libloading::Library;
use offload_pack::checks::Check;
use offload_pack::signature::local_symbol;
use std::sync::{Mutex, PoisonError};

/// The entry of a kernel, which runs threads of a block; `addresses` points to the arguments'
/// addresses.
pub(super) type Entry = unsafe extern "C-unwind" fn(addresses: *mut c_void);

/// A function that calls an entry for the blocks from `first` up to, but not including, `end`. In a
/// checked image, it returns the number of findings.
pub(super) type LaunchBlocks = unsafe extern "C" fn(
    grid: *const c_uint,
    block: *const c_uint,
    first: u64,
    end: u64,
    shared: usize,
    entry: Entry,
    addresses: *mut c_void,
    settings: *const Settings,
) -> c_uint;

/// An image's functions that run blocks.
#[derive(Clone, Copy)]
pub(super) struct Launchers {
    pub(super) blocks: LaunchBlocks,
    /// A function that reports stack overflows; `None` in checked images and on
    /// systems where blocks have no stacks.
    pub(super) no_access: Option<NoAccess>,
    /// Whether a sanitizer checks the image's kernels.
    pub(super) is_checked: bool,
    /// Whether the image's sanitizer is ThreadSanitizer.
    pub(super) checks_races: bool,
}

/// An entry in the image's list of variables. The last entry's name is null.
#[repr(C)]
struct ListedVariable {
    name: *const c_char,
    start: *mut c_void,
    /// The size in bytes, including bytes that a sanitizer added.
    size: usize,
}

/// A loaded image for the CPU.
pub(super) struct LoadedImage {
    library: Library,
    launchers: Launchers,
    /// The kernels requested so far.
    #[expect(clippy::vec_box, reason = "a box keeps its address, which is the kernel's handle")]
    kernels: Mutex<Vec<Box<Kernel>>>,
    /// Dropped after the library, because Windows cannot remove a loaded file.
    _source: ImageSource,
}

/// A kernel of an image.
pub(super) struct Kernel {
    pub(super) entry: Entry,
    /// The kernel's name in the image's messages.
    pub(super) name: CString,
    pub(super) launchers: Launchers,
}

/// The prefix of each entry's name; the kernel's symbol follows.
const ENTRY: &str = "offload_cpu_kernel_";

impl LoadedImage {
    /// Loads an image from its bytes, or returns an error message.
    pub(super) fn load(bytes: &[u8]) -> Result<Self, String> {
        if IS_STATIC {
            return Err(STATIC.to_string());
        }
        let (checked, bytes) = check::choose(bytes)?;
        let log = checked.as_ref().and_then(|_| log::path());
        let source = ImageSource::new(bytes, log)?;
        // SAFETY: this program's build compiled the image, so loading or unloading it runs only
        // code from its source.
        let library = unsafe { Library::new(source.path()) }.map_err(|error| {
            let reason = error.source().map_or_else(|| error.to_string(), ToString::to_string);
            let of_check = checked.as_ref().map(check::hint).unwrap_or_default();
            format!("{reason}{}{of_check}", source.hint(&reason))
        })?;
        let blocks = address(&library, b"offload_cpu_launch_with\0").ok_or(
            "the image has no function offload_cpu_launch_with: build the image with this \
             version of offload-build",
        )?;
        // SAFETY: `offload/schedule.h` declares the function with this type.
        let blocks = unsafe { mem::transmute::<NonNull<c_void>, LaunchBlocks>(blocks) };
        let no_access = address(&library, b"offload_cpu_no_access\0");
        // SAFETY: `offload/ends.h` declares the function with this type.
        let no_access =
            no_access.map(|it| unsafe { mem::transmute::<NonNull<c_void>, NoAccess>(it) });
        let checks_races = checked.as_ref().is_some_and(|it| it.check == Check::Races);
        let is_checked = checked.is_some();
        let launchers = Launchers { blocks, no_access, is_checked, checks_races };
        Ok(Self { library, launchers, kernels: Mutex::default(), _source: source.once_loaded() })
    }

    /// Returns the handle of the kernel with this name, valid as long as the image is loaded.
    ///
    /// Returns an error message if the image has no entry for such a kernel.
    pub(super) fn kernel(&self, name: &CStr) -> Result<*mut c_void, &'static str> {
        let mut of_entry = ENTRY.as_bytes().to_vec();
        let local = name.to_str().ok().and_then(local_symbol);
        of_entry.extend_from_slice(local.map_or(name.to_bytes(), |(name, _)| name.as_bytes()));
        of_entry.push(0);
        let Some(entry) = address(&self.library, &of_entry) else {
            let has_kernel = address(&self.library, name.to_bytes_with_nul()).is_some();
            return Err(if has_kernel {
                "the image for the CPU has no entry for this kernel: build the image with this \
                 version of offload-build"
            } else {
                "the image for the CPU has no such kernel"
            });
        };
        // SAFETY: `offload/entry.h` and offload-kernel define entries with this type.
        let entry = unsafe { mem::transmute::<NonNull<c_void>, Entry>(entry) };
        let kernel = Kernel { entry, name: name.to_owned(), launchers: self.launchers };
        let mut kernels = self.kernels.lock().unwrap_or_else(PoisonError::into_inner);
        let at = kernels.len();
        kernels.push(Box::new(kernel));
        Ok(ptr::from_ref(&*kernels[at]).cast_mut().cast())
    }

    /// Returns the location of the variable with this name. Returns `None` if the image does not
    /// list the variable, or has no list, like images from earlier versions of offload-build.
    pub(super) fn variable(&self, name: &CStr) -> Option<Place> {
        let mut list = address(&self.library, b"offload_cpu_variables\0")?.cast::<ListedVariable>();
        loop {
            // SAFETY: offload-build writes the list in this form. Reading stops at the last entry,
            // which has no name.
            let ListedVariable { name: listed, start, size } = unsafe { list.read() };
            if listed.is_null() {
                return None;
            }
            // SAFETY: the name ends with a NUL, and exists as long as the image is loaded.
            if unsafe { CStr::from_ptr(listed) } == name {
                let may_be_smaller = self.launchers.is_checked;
                return Some(Place { start: Handle(start), size, may_be_smaller });
            }
            // SAFETY: an entry with a name is not the last one.
            list = unsafe { list.add(1) };
        }
    }

    /// Returns the loader's handle of the library.
    pub(super) fn raw(&self) -> *mut c_void {
        // libloading returns the handle only by consuming the `Library`, so consume a copy. SAFETY:
        // the copy is consumed at once, and does not close the library.
        let copy = unsafe { ptr::read(&self.library) };
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

/// Whether this program lacks a loader for shared libraries, because it is linked statically with
/// musl. Static glibc programs have a loader.
const IS_STATIC: bool = cfg!(all(target_env = "musl", target_feature = "crt-static"));

/// The message for a program without a loader: why it cannot load images for the CPU, and advice.
const STATIC: &str = "this program is static, but musl loads code only into dynamically linked \
     programs: build the program with RUSTFLAGS=-Ctarget-feature=-crt-static, or for a target with \
     glibc, or leave `cpu` out of the targets";

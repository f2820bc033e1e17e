//! Loads images for the CPU, which are shared objects, and runs kernels in them. Copy this file.

use std::collections::hash_map::RandomState;
use std::env::{self, consts};
use std::error::Error;
use std::ffi::{c_uint, c_void};
use std::fs::{self, OpenOptions};
use std::hash::{BuildHasher, Hasher};
use std::io::Write;
use std::path::PathBuf;
use std::{process, ptr};

use libloading::{Library, Symbol};
use offload::PackImage;

/// Errors are texts for people. They may go from thread to thread.
pub type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

/// An image, loaded.
pub struct CpuModule {
    // Fields are dropped in order, and Windows does not remove a file that is loaded.
    library: Library,
    _file: Option<TemporaryFile>,
}

/// `offload_cpu_launch` of `offload/kernel.h`: calls `thread(context)` once for each thread of the grid.
type Launch = unsafe extern "C" fn(
    grid: *const c_uint,
    block: *const c_uint,
    thread: unsafe extern "C" fn(*mut c_void),
    context: *mut c_void,
);

impl CpuModule {
    /// Loads an image by way of a temporary file. Returns an error that says what the system has against it.
    pub fn load(image: PackImage) -> Result<Self> {
        let file = TemporaryFile::create(image.bytes())?;
        // SAFETY: the image was compiled from our own source, which runs nothing when it is loaded or unloaded.
        let library = unsafe { Library::new(&file.path) }.map_err(|error| {
            let reason = error.source().map_or_else(|| error.to_string(), ToString::to_string);
            let folder = env::temp_dir();
            format!(
                "could not load the CPU image: {reason}\n\
                 If {} does not allow programs to run (noexec), set {} to a folder that does.",
                folder.display(),
                if cfg!(windows) { "TMP" } else { "TMPDIR" },
            )
        })?;
        // Elsewhere what is loaded stays, and without a file nothing is left behind if a kernel crashes.
        Ok(Self { library, _file: cfg!(windows).then_some(file) })
    }

    /// The kernel of this name.
    ///
    /// # Safety
    /// `F` must be the type of the function of this name: a function pointer.
    pub unsafe fn kernel<F>(&self, name: &str) -> Result<Symbol<'_, F>> {
        // SAFETY: the caller answers for the type.
        let found = unsafe { self.library.get(name) };
        found.map_err(|_| format!("the CPU image has no function {name}").into())
    }

    /// Calls `thread` once for each thread of the grid, with `threadIdx` and its kin set for the kernels of this image.
    /// Calls overlap where threads wait for each other.
    pub fn launch<F: Fn()>(&self, grid: [c_uint; 3], block: [c_uint; 3], thread: F) -> Result<()> {
        /// Calls the closure at `context`.
        unsafe extern "C" fn call<F: Fn()>(context: *mut c_void) {
            // SAFETY: the address of an `F`. Threads that wait for each other share it.
            let thread = unsafe { &*context.cast::<F>() };
            thread();
        }
        // SAFETY: `offload/cpu.h` declares it with this type.
        let launch: Symbol<'_, Launch> = unsafe { self.kernel("offload_cpu_launch")? };
        // SAFETY: grid and block have three elements each. `call::<F>` gets the address of an `F`, on this thread, and
        // not after the return. It only reads there.
        unsafe { launch(grid.as_ptr(), block.as_ptr(), call::<F>, ptr::from_ref(&thread).cast_mut().cast()) };
        Ok(())
    }
}

/// A file that only this process uses. Dropping it removes it.
struct TemporaryFile {
    path: PathBuf,
}

impl TemporaryFile {
    fn create(contents: &[u8]) -> Result<Self> {
        // The keys of the standard hash tables are random, and so is their hash of nothing.
        let random = RandomState::new().build_hasher().finish();
        let name = format!("kernels-{}-{random:016x}{}", process::id(), consts::DLL_SUFFIX);
        let path = env::temp_dir().join(name);
        let failed = |error| format!("could not write the CPU image to {}: {error}", path.display());

        // `create_new` fails if anything, even a link, is already there: nobody can have prepared the file for us.
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o700);
        let mut file = options.open(&path).map_err(failed)?;
        let written = file.write_all(contents).map_err(failed);
        let this = Self { path };
        written?;
        Ok(this)
    }
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        // A file that stays in the temporary folder is not worth an error.
        let _ = fs::remove_file(&self.path);
    }
}

//! The CPU: the image is a shared object, and `offload_cpu_launch` in it runs a kernel's threads on this one.
//!
//! Its types are in `offload/cpu.h`, a part of `offload/kernel.h`, which offload-build includes before each kernel.

use std::collections::hash_map::RandomState;
use std::env::{self, consts};
use std::error::Error;
use std::ffi::{c_uint, c_void};
use std::fs::{self, OpenOptions};
use std::hash::{BuildHasher, Hasher};
use std::io::Write;
use std::path::PathBuf;
use std::process;
use std::ptr;

use libloading::{Library, Symbol};
use offload::DeviceInfo;
use offload::PackImage;

use crate::runtime::{FoundDevice, Result, Runtime};
use crate::saxpy::{BLOCK, Problem};

/// The kernel, as `kernels/saxpy.cu` declares it.
type Saxpy = unsafe extern "C" fn(n: i32, a: f32, x: *const f32, y: *mut f32);

/// Calls `thread(context)` once for each thread of the grid.
type Launch = unsafe extern "C" fn(
    grid: *const c_uint,
    block: *const c_uint,
    thread: unsafe extern "C" fn(*mut c_void),
    context: *mut c_void,
);

/// The CPU of this machine. There always is one.
pub fn device() -> FoundDevice {
    FoundDevice {
        runtime: Runtime::Cpu,
        index: 0,
        product: format!("{} {}", consts::OS, consts::ARCH),
        device: DeviceInfo::cpu(),
    }
}

/// Runs the kernel in `image` on this thread.
pub fn run(image: &PackImage, problem: &mut Problem) -> Result<()> {
    let module = Module::load(image)?;
    // SAFETY: the kernel has this type in its source.
    let saxpy: Symbol<'_, Saxpy> = unsafe { module.function("saxpy")? };
    let (n, a) = (problem.n(), problem.a);
    let (x, y) = (problem.x.as_ptr(), problem.y.as_mut_ptr());
    module.launch([problem.blocks(), 1, 1], [BLOCK, 1, 1], || {
        // SAFETY: it touches the first `n` elements of `x` and `y`, which is how many they have; `x` is only read, and
        // nothing else refers to `y` meanwhile.
        unsafe { saxpy(n, a, x, y) }
    })
}

/// An image, loaded.
struct Module {
    // Fields are dropped in order, and Windows does not remove a file that is loaded.
    library: Library,
    _file: Option<TemporaryFile>,
}

impl Module {
    fn load(image: &PackImage) -> Result<Self> {
        let file = TemporaryFile::create(image.bytes())?;
        // SAFETY: the image was compiled from our own source, which runs nothing when it is loaded or unloaded.
        let library = unsafe { Library::new(&file.path) }.map_err(|error| {
            let reason = error.source().map_or_else(|| error.to_string(), ToString::to_string);
            format!(
                "could not load the {} {} ({} bytes): {reason}\n\
                 If {} does not allow programs to run (noexec), set {} to a folder that does.",
                image.target(),
                image.kind(),
                image.bytes().len(),
                env::temp_dir().display(),
                if cfg!(windows) { "TMP" } else { "TMPDIR" },
            )
        })?;
        // Elsewhere what is loaded stays, and without a file nothing is left behind if the kernel crashes.
        Ok(Self { library, _file: cfg!(windows).then_some(file) })
    }

    /// Looks a function up.
    ///
    /// # Safety
    /// `F` must be the type of the function of this name: a function pointer.
    unsafe fn function<F>(&self, name: &str) -> Result<Symbol<'_, F>> {
        // SAFETY: the caller answers for the type.
        let found = unsafe { self.library.get(name) };
        found.map_err(|_| format!("the CPU image has no function {name}: was it built by offload-build?").into())
    }

    /// Calls `thread` once for each thread of the grid, with `threadIdx` and its kin set for the kernels of this image.
    fn launch<F: Fn()>(&self, grid: [c_uint; 3], block: [c_uint; 3], thread: F) -> Result<()> {
        /// Calls the closure at `context`.
        unsafe extern "C" fn call<F: Fn()>(context: *mut c_void) {
            // SAFETY: the address of an `F`. Threads that wait for each other share it.
            let thread = unsafe { &*context.cast::<F>() };
            thread();
        }
        // SAFETY: `offload/cpu.h` declares it with this type.
        let launch: Symbol<'_, Launch> = unsafe { self.function("offload_cpu_launch")? };
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
        let name = format!("saxpy-{}-{random:016x}{}", process::id(), consts::DLL_SUFFIX);
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

//! The CPU: an image is a shared object whose functions run the threads of a grid. `offload/cpu.h`
//! declares their types; it is part of `offload/kernel.h`, which offload-build includes before each
//! kernel.

mod beside;
mod check;
mod image;
mod log;
mod memory;
mod running;
mod slow;
mod source;
mod threads;

use self::image::LoadedImage;
use super::backend::{Arguments, Backend, Handle, LoadableImage, NO_VARIABLE, Place};
use super::context::{Context, Modules, shared};
use super::error::{Result, RunError};
use super::launch::{DeviceLimits, Launch};
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use core::ffi::CStr;
use core::mem::MaybeUninit;
use core::num::NonZero;
use core::ptr;
use offload_format::select::DeviceInfo;
use offload_format::target::Vendor;
use std::env;
use std::env::consts;
use std::process;

/// Returns the CPU of this machine. This device always exists.
pub(super) fn device() -> Arc<Context> {
    let limits = DeviceLimits {
        // Use typical limits of GPUs: a launch that no GPU can run should also fail on the CPU.
        threads: 1024,
        block: [1024, 1024, 64],
        grid: [i32::MAX as u64, 65_535, 65_535],
        shared_memory: u64::from(u32::MAX),
        shared_memory_on_request: u64::from(u32::MAX),
        reserved_shared_memory: 0,
    };
    let context = || {
        Ok(Context {
            vendor: Vendor::Cpu,
            ordinal: 0,
            product: format!("{} {}", consts::OS, consts::ARCH),
            info: DeviceInfo::cpu(),
            memory: None,
            limits,
            foreign: None,
            backend: Box::new(Cpu),
            modules: Modules::default(),
        })
    };
    // Creating the CPU's context cannot fail.
    shared(Vendor::Cpu, 0, None, &context).unwrap_or_else(|_| process::abort())
}

struct Cpu;

/// # Safety
/// The handle comes from [`Backend::load`] on the CPU, and is not unloaded.
unsafe fn image<'a>(module: Handle) -> &'a LoadedImage {
    // SAFETY: `load` created the handle from a box, which lives until `unload`.
    unsafe { &*module.0.cast::<LoadedImage>() }
}

impl Backend for Cpu {
    fn load(&self, image: &LoadableImage<'_>) -> Result<Handle> {
        let loaded = LoadedImage::load(image.bytes).map_err(|why| {
            RunError::refused(format!("load the {} ({} bytes)", image.name, image.bytes.len()), why)
        })?;
        Ok(Handle(Box::into_raw(Box::new(loaded)).cast()))
    }

    fn unload(&self, module: Handle) {
        // SAFETY: `load` returned the module, and the module is unloaded once.
        drop(unsafe { Box::from_raw(module.0.cast::<LoadedImage>()) });
    }

    fn raw_module(&self, module: Handle) -> Result<Handle> {
        // SAFETY: the module is loaded.
        Ok(Handle(unsafe { image(module) }.raw()))
    }

    fn function(&self, module: Handle, name: &CStr) -> Result<(Handle, Option<u64>)> {
        let attempted = || format!("find the kernel {}", name.to_string_lossy());
        // SAFETY: the module is loaded.
        let kernel = unsafe { image(module) }.kernel(name);
        let kernel = kernel.map_err(|why| RunError::refused(attempted(), why))?;
        Ok((Handle(kernel), None))
    }

    fn variable(
        &self,
        module: Handle,
        name: &CStr,
        attempted: &dyn Fn() -> String,
    ) -> Result<Place> {
        // SAFETY: the module is loaded.
        unsafe { image(module) }.variable(name).ok_or_else(|| {
            if cfg!(any(windows, target_vendor = "apple")) {
                let why = "on Windows and macOS, images for the CPU do not list their variables";
                RunError::refused(attempted(), why)
            } else {
                let why = "the image for the CPU lists no such variable";
                RunError::refused(attempted(), why).advice(NO_VARIABLE)
            }
        })
    }

    unsafe fn launch(
        &self,
        function: Handle,
        launch: &Launch,
        arguments: Arguments<'_>,
    ) -> Result<()> {
        let attempted = || format!("launch {}", arguments.kernel);
        if !launch.stream.is_null() {
            return Err(RunError::refused(
                attempted(),
                "the launch sets a stream, but the CPU has no streams",
            ));
        }
        // SAFETY: the function belongs to a loaded image; the caller guarantees the arguments.
        slow::noted(arguments.kernel, || unsafe { threads::run(function.0, launch, &arguments) })
            .map_err(|why| RunError::refused(attempted(), why))
    }

    fn allocate(&self, size: usize) -> Result<Handle> {
        let start = memory::allocate(size);
        if start.is_null() {
            return Err(RunError::refused(
                format!("allocate {size} bytes"),
                "there is not enough memory",
            ));
        }
        if check::is_checked() {
            // These bytes are NaN as floating-point numbers, so a kernel that reads unwritten
            // memory computes NaN. SAFETY: the memory has `size` bytes.
            unsafe { start.write_bytes(0xff, size) };
        }
        Ok(Handle(start.cast()))
    }

    unsafe fn free(&self, memory: Handle, size: usize) {
        // SAFETY: the memory comes from `allocate`, and has this size.
        unsafe { memory::free(memory.0.cast(), size) }
    }

    unsafe fn upload(&self, to: Handle, from: &[MaybeUninit<u8>]) -> Result<()> {
        // SAFETY: the caller guarantees that `to` has room for these bytes; they do not overlap,
        // since the program has no slices of device memory.
        unsafe { ptr::copy_nonoverlapping(from.as_ptr(), to.0.cast(), from.len()) };
        Ok(())
    }

    unsafe fn download(&self, to: *mut u8, from: Handle, size: usize) -> Result<()> {
        // SAFETY: the caller guarantees that `to` and `from` have `size` bytes; they do not
        // overlap, since the program has no slices of device memory.
        unsafe { ptr::copy_nonoverlapping(from.0.cast::<u8>().cast_const(), to, size) };
        Ok(())
    }

    fn synchronize(&self) -> Result<()> {
        // A launch on the CPU returns only after its grid has run.
        Ok(())
    }
}

/// Returns the value of a variable that contains a number of `things`, or `None` if the variable is
/// unset or empty.
///
/// Returns an error message if the value is not a positive number.
fn positive(variable: &str, things: &str) -> core::result::Result<Option<NonZero<u64>>, String> {
    let Some(text) = env::var_os(variable).filter(|text| !text.is_empty()) else {
        return Ok(None);
    };
    let number = text.to_str().and_then(|text| text.parse().ok());
    number.map(Some).ok_or_else(|| {
        let text = text.to_string_lossy();
        format!("{variable} is '{text}', but must be a number of {things}, at least 1")
    })
}

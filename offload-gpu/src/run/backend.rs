//! The operations of a device, which `cuda`, `hip`, `opencl` and `cpu` implement.

use super::error::Result;
use super::launch::Launch;
#[cfg(feature = "cudarc")]
use crate::call::BufferEvent;
use alloc::string::String;
use core::ffi::{CStr, c_void};
use core::mem::MaybeUninit;

/// A handle from the driver, which this program treats as a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Handle(pub(super) *mut c_void);

// SAFETY: the program does not dereference the handle, and drivers accept handles on every thread.
unsafe impl Send for Handle {}
// SAFETY: as above.
unsafe impl Sync for Handle {}

/// The bytes of an image, in the form that drivers need.
pub(super) struct LoadableImage<'a> {
    /// The address of the image's first byte, aligned to 8. A NUL follows PTX.
    pub(super) start: *const c_void,
    pub(super) bytes: &'a [u8],
    /// The target and the kind of the image, for messages: `sm_90 cubin`.
    pub(super) name: String,
}

/// The location of a variable in a device's memory.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    pub(super) start: Handle,
    /// The size in bytes.
    pub(super) size: usize,
    /// Whether the variable may be smaller than `size`: in images for the CPU, a sanitizer adds
    /// bytes.
    pub(super) may_be_smaller: bool,
}

impl Place {
    /// Returns the address of a byte of the variable.
    pub(super) fn at(&self, offset: usize) -> Handle {
        Handle(self.start.0.wrapping_byte_add(offset))
    }
}

/// Advice for an image that lacks a variable of the source.
pub(super) const NO_VARIABLE: &str = "The source may define the variable as `static`, only \
                                      for other targets, or in a template that this image does \
                                      not use.";

/// The arguments of a launch.
pub(super) struct Arguments<'a> {
    /// The kernel's name, for errors.
    pub(super) kernel: &'a str,
    /// The address of each argument.
    pub(super) pointers: &'a mut [*mut c_void],
    /// A bit for each of the first 64 arguments: set if the argument is an address.
    pub(super) addresses: u64,
    /// The events of cudarc buffers.
    #[cfg(feature = "cudarc")]
    pub(super) events: &'a [Option<BufferEvent>],
}

/// The operations of a driver in one context on a device.
pub(super) trait Backend: Send + Sync {
    /// Loads an image, and returns the handle of its module.
    fn load(&self, image: &LoadableImage<'_>) -> Result<Handle>;

    /// Unloads a module that is no longer used. Ignores errors, since nothing can be done about
    /// them.
    fn unload(&self, module: Handle);

    /// Returns the driver's handle of a module. This is the result of [`Backend::load`], or a CUDA
    /// library's module in this context.
    fn raw_module(&self, module: Handle) -> Result<Handle> {
        Ok(module)
    }

    /// Returns the driver's handle of a kernel, from the result of [`Backend::function`].
    fn raw_function(&self, function: Handle) -> Handle {
        function
    }

    /// Returns the handle of the kernel of this name in a loaded module.
    fn function(&self, module: Handle, name: &CStr) -> Result<Handle>;

    /// Returns the location of the variable with this name in a loaded module. `attempted`
    /// describes the operation in errors.
    fn variable(
        &self,
        module: Handle,
        name: &CStr,
        attempted: &dyn Fn() -> String,
    ) -> Result<Place>;

    /// Allows launches of a kernel to use this many bytes of dynamic shared memory.
    fn allow_shared_memory(&self, _function: Handle, _bytes: usize) -> Result<()> {
        Ok(())
    }

    /// Starts a kernel.
    ///
    /// # Safety
    /// The arguments and the launch must fit the kernel. Memory behind pointers must live until the
    /// kernel has run.
    unsafe fn launch(
        &self,
        function: Handle,
        launch: &Launch,
        arguments: Arguments<'_>,
    ) -> Result<()>;

    /// Allocates `size` bytes of memory on the device; `size` is not 0.
    fn allocate(&self, size: usize) -> Result<Handle>;

    /// Frees memory on the device. Ignores errors, since nothing can be done about them.
    ///
    /// # Safety
    /// The memory comes from [`Backend::allocate`], is freed once, and is no longer used.
    unsafe fn free(&self, memory: Handle);

    /// Copies from the host to the device, after all earlier work. Padding bytes need not be
    /// initialized.
    ///
    /// # Safety
    /// `to` has room for the bytes of `from`.
    unsafe fn upload(&self, to: Handle, from: &[MaybeUninit<u8>]) -> Result<()>;

    /// Copies from the device to the host, after all earlier work.
    ///
    /// # Safety
    /// Both `to` and `from` have at least `size` bytes.
    unsafe fn download(&self, to: *mut u8, from: Handle, size: usize) -> Result<()>;

    /// Waits until all work that was started on the device has ended.
    fn synchronize(&self) -> Result<()>;
}

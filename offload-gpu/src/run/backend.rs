//! Device operations, implemented by `cuda`, `hip`, `opencl` and `cpu`.

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

/// An image's bytes, in the form that drivers expect.
pub(super) struct LoadableImage<'a> {
    /// The address of the image's first byte, aligned to 8. PTX is NUL-terminated.
    pub(super) start: *const c_void,
    pub(super) bytes: &'a [u8],
    /// The image's target and kind, for messages: `sm_90 cubin`.
    pub(super) name: String,
}

/// The location of a variable in a device's memory.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    pub(super) start: Handle,
    /// The size in bytes.
    pub(super) size: usize,
    /// Whether the variable may be smaller than `size`, because a sanitizer padded it in an image
    /// for the CPU.
    pub(super) may_be_smaller: bool,
}

impl Place {
    /// Returns the address at this byte offset in the variable.
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

/// A driver's operations in one context on a device.
pub(super) trait Backend: Send + Sync {
    /// Loads an image, and returns the handle of its module.
    fn load(&self, image: &LoadableImage<'_>) -> Result<Handle>;

    /// Unloads a module that is no longer used. Ignores errors, since nothing can be done about
    /// them.
    fn unload(&self, module: Handle);

    /// Returns the driver's handle of a module: by default, the result of [`Backend::load`]; for a
    /// CUDA library, its module in this context.
    fn raw_module(&self, module: Handle) -> Result<Handle> {
        Ok(module)
    }

    /// Converts a result of [`Backend::function`] to the driver's handle of the kernel.
    fn raw_function(&self, function: Handle) -> Handle {
        function
    }

    /// Returns the handle of the kernel with this name in a loaded module. Also returns how many
    /// bytes of shared memory the kernel declares, if the driver knows: PTX does not contain the
    /// size.
    fn function(&self, module: Handle, name: &CStr) -> Result<(Handle, Option<u64>)>;

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
    /// The arguments and the launch must fit the kernel. Memory behind pointers must stay valid
    /// until the kernel has finished.
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
    /// The memory comes from [`Backend::allocate`], has `size` bytes, is freed once, and is no
    /// longer used.
    unsafe fn free(&self, memory: Handle, size: usize);

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

    /// Waits for all work started on the device to finish.
    fn synchronize(&self) -> Result<()>;
}

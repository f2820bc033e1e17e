//! Modules on devices, and launches of their kernels.

use super::backend::Arguments;
use super::context::LoadedModule;
use super::device::Device;
use super::error::{Result, RunError};
use super::launch::{Dim, Launch};
use crate::call::{BufferDevices, Call, NamedCall};
use crate::pack::{Compressed, Form, Kernel, KernelPack, Module, PackImage};
use crate::text::joined;
use alloc::format;
use alloc::string::ToString;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ffi::c_void;
use core::fmt;
use core::ptr;

/// A module that is loaded on a device. The module stays loaded as long as the [`Device`] exists.
///
/// Source: `cuModuleLoadDataEx` (CUDA driver API) and `hipModuleLoadData` (HIP).
#[derive(Clone)]
pub struct Loaded {
    device: Device,
    module: Arc<LoadedModule>,
}

impl<F: Form> Module<'_, F> {
    /// Returns the module on this device. Loads the image that fits, unless an earlier call on any
    /// thread has loaded it. If several threads call this method at the same time, one thread loads
    /// the image, and the others wait.
    ///
    /// Returns an error if no image fits, with the reasons, or if the driver cannot load the image
    /// that fits.
    pub fn on(&self, device: &Device) -> Result<Loaded> {
        let module = device.0.module(self).map_err(|error| error.on(|| device.to_string()))?;
        Ok(Loaded { device: device.clone(), module })
    }
}

impl<F: Form> KernelPack<F> {
    /// Returns the module of a pack of one module on this device, as [`Module::on`] does.
    ///
    /// Returns an error that names the modules, if the pack has several.
    pub fn on(&self, device: &Device) -> Result<Loaded> {
        let mut modules = self.modules();
        match (modules.next(), modules.next()) {
            (Some(module), None) => module.on(device),
            _ => {
                let names: Vec<&str> = self.modules().map(|module| module.name()).collect();
                let attempted = format!("load the pack \"{}\"", self.name());
                let why = format!(
                    "it has several modules: {}; load one with PACK.module(...).on(...)",
                    joined(&names, ", ")
                );
                Err(RunError::refused(attempted, why))
            }
        }
    }
}

impl Loaded {
    /// Returns the image that was loaded. [`PackImage::decompress`] returns its bytes, whether the
    /// pack is compressed or not.
    pub fn image(&self) -> PackImage<Compressed> {
        self.module.image
    }

    pub(super) fn module(&self) -> &LoadedModule {
        &self.module
    }

    /// Returns the device that the module is loaded on.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Returns the driver's handle of the module, for other libraries: the [module's table](super)
    /// says what it is. This crate owns the module, and releases it when the last clone of the
    /// [`Device`] is dropped: until then the handle is valid.
    ///
    /// If a kernel has `extern __shared__` arrays, the `cl_program` is the form in which they have
    /// all memory that the device has left: launches with dynamic shared memory use programs of
    /// their own.
    ///
    /// Returns an error if the driver cannot return the handle.
    #[inline]
    pub fn raw_module(&self) -> Result<*mut c_void> {
        let raw = self.device.0.backend.raw_module(self.module.handle);
        raw.map(|handle| handle.0).map_err(|error| error.on(|| self.device.to_string()))
    }

    /// Returns the driver's handle of a kernel, for launches by other libraries: a `CUfunction`, a
    /// `hipFunction_t`, or a `cl_kernel` of the `cl_program` that [`Loaded::raw_module`] returns.
    /// For the CPU, only this crate can use the handle. It is valid as long as the module's.
    ///
    /// With OpenCL, the arguments belong to the `cl_kernel`, and launches by this crate set them.
    /// So launch a copy (`clCloneKernel`), or launch while no other thread launches the kernel.
    ///
    /// Returns an error if the image has no such kernel.
    pub fn raw_function<F: Form>(&self, kernel: &Kernel<'_, F>) -> Result<*mut c_void> {
        let found = self.device.0.kernel(&self.module, kernel);
        let backend = &self.device.0.backend;
        let raw = found.map(|kernel| backend.raw_function(kernel.handle).0);
        raw.map_err(|error| error.on(|| self.device.to_string()))
    }
}

impl fmt::Debug for Loaded {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Loaded")
            .field("device", &self.device.name())
            .field("image", &self.module.image)
            .finish()
    }
}

impl<const N: usize, const BYTES: usize, F: Form, const HAS_BUFFER: bool>
    Call<N, BYTES, F, HAS_BUFFER>
{
    /// Launches the kernel on a device's default stream. `grid` is the number of blocks, and
    /// `block` the number of threads in each: `256`, `(16, 16)`, `(8, 8, 4)`. Loads the kernel's
    /// module first, if necessary. The call returns once the launch is handed to the driver; copies
    /// of a [`Buffer`](super::Buffer) and [`Device::synchronize`] wait for the kernel.
    ///
    /// ```
    /// # use offload_gpu::run::{Device, RunError};
    /// # mod kernels {
    /// #     pub fn saxpy(n: i32, a: f32, x: &offload_gpu::run::Buffer<f32>, y: &mut offload_gpu::run::Buffer<f32>) -> offload_gpu::Call<4, 24> { todo!() }
    /// # }
    /// # fn example(device: &Device) -> Result<Vec<f32>, RunError> {
    /// let x = device.buffer(&[1.0; 1000])?;
    /// let mut y = device.buffer(&[2.0; 1000])?;
    /// // SAFETY: the kernel touches the first 1000 elements of `x` and `y`, which is how many each has.
    /// unsafe { kernels::saxpy(1000, 3.0, &x, &mut y).launch(device, 4, 256)? };
    /// y.to_vec()
    /// # }
    /// ```
    ///
    /// Returns an error if the module cannot be loaded, or if the image has no such kernel. A
    /// launch that the image, the device or the driver does not allow is also an error, and so is
    /// one with a buffer of a different device.
    ///
    /// # Safety
    /// The compiler has checked the number and types of the arguments. The caller guarantees their
    /// meaning. Pointers lead to memory of this device, with as many elements as the kernel
    /// touches. Nothing else uses memory that the kernel writes. All of this memory lives until the
    /// kernel has run. Pointers of the same type are in the right order. Until the kernel has run,
    /// no thread copies to a [`Variable`](crate::Variable) that it uses, or from one that it
    /// writes.
    pub unsafe fn launch(
        &self,
        device: &Device,
        grid: impl Into<Dim>,
        block: impl Into<Dim>,
    ) -> Result<()> {
        // SAFETY: the caller guarantees the conditions of this launch.
        unsafe { self.launch_as(device, &Launch::new(grid, block)) }
    }

    /// Launches as [`Call::launch`] does, with dynamic shared memory or on a stream.
    ///
    /// # Safety
    /// The conditions of [`Call::launch`] apply. The stream belongs to this device.
    pub unsafe fn launch_as(&self, device: &Device, launch: &Launch) -> Result<()> {
        // SAFETY: the caller guarantees the conditions of this launch.
        unsafe { self.launch_in(device, launch) }.map_err(|error| error.on(|| device.to_string()))
    }

    unsafe fn launch_in(&self, device: &Device, launch: &Launch) -> Result<()> {
        let (kernel, mut pointers) = (self.kernel(), self.pointers());
        let (name, pointers) = (kernel.name(), &mut pointers[..]);
        let arguments = Arguments {
            kernel: name,
            pointers,
            addresses: self.addresses(),
            #[cfg(feature = "cudarc")]
            events: self.events(),
        };
        // SAFETY: the compiler has checked the types of the arguments. The caller guarantees the
        // rest.
        unsafe { launch_kernel(device, launch, &kernel, self.devices(), arguments) }
    }
}

impl<F: Form> NamedCall<F> {
    /// Launches the kernel on a device's default stream, as [`Call::launch`] does.
    ///
    /// ```
    /// # use offload_gpu::run::{Device, RunError};
    /// # mod kernels {
    /// #     pub fn named(_: &str) -> Result<offload_gpu::NamedKernel, offload_gpu::CallError> { todo!() }
    /// # }
    /// # fn example(device: &Device, dtype: &str) -> Result<Vec<f32>, RunError> {
    /// let mut y = device.buffer(&[2.0_f32; 1000])?;
    /// let call = kernels::named(&format!("scale_{dtype}"))?.call((1000, 3.0_f32, &mut y))?;
    /// // SAFETY: the kernel touches the first 1000 elements of `y`, which is how many it has.
    /// unsafe { call.launch(device, 4, 256)? };
    /// y.to_vec()
    /// # }
    /// ```
    ///
    /// Returns an error if arguments are missing, and the errors of [`Call::launch`].
    ///
    /// # Safety
    /// The conditions of [`Call::launch`] apply: the number and the types of the arguments are
    /// checked, and the caller guarantees their meaning.
    pub unsafe fn launch(
        &self,
        device: &Device,
        grid: impl Into<Dim>,
        block: impl Into<Dim>,
    ) -> Result<()> {
        // SAFETY: the caller guarantees the conditions of this launch.
        unsafe { self.launch_as(device, &Launch::new(grid, block)) }
    }

    /// Launches as [`NamedCall::launch`] does, with dynamic shared memory or on a stream.
    ///
    /// # Safety
    /// The conditions of [`Call::launch`] apply. The stream belongs to this device.
    pub unsafe fn launch_as(&self, device: &Device, launch: &Launch) -> Result<()> {
        // SAFETY: the caller guarantees the conditions of this launch.
        unsafe { self.launch_in(device, launch) }.map_err(|error| error.on(|| device.to_string()))
    }

    unsafe fn launch_in(&self, device: &Device, launch: &Launch) -> Result<()> {
        // Most kernels have few parameters, and need no allocation here.
        let (mut few, mut many) = ([ptr::null_mut(); 16], Vec::new());
        let count = self.len();
        let pointers = match few.get_mut(..count) {
            Some(few) => few,
            None => {
                many.resize(count, ptr::null_mut());
                &mut many[..]
            }
        };
        self.write_pointers(pointers)?;
        let kernel = self.kernel();
        let arguments = Arguments {
            kernel: kernel.name(),
            pointers,
            addresses: self.addresses(),
            #[cfg(feature = "cudarc")]
            events: self.events(),
        };
        // SAFETY: each argument was compared with the kernel's parameter, and none is missing. The
        // caller guarantees the rest.
        unsafe { launch_kernel(device, launch, &kernel, self.devices(), arguments) }
    }
}

/// Launches a kernel, after its module is loaded.
///
/// # Safety
/// The arguments have the types that the kernel needs. The conditions of [`Call::launch`] apply.
unsafe fn launch_kernel<F: Form>(
    device: &Device,
    launch: &Launch,
    kernel: &Kernel<'_, F>,
    buffers: &BufferDevices,
    arguments: Arguments<'_>,
) -> Result<()> {
    let context = &device.0;
    let module = context.module(&kernel.module())?;
    let found = context.kernel(&module, kernel)?;
    let image = module.image.target();
    launch.check(kernel.name(), image, &found.limits, &context.limits, buffers, context.id())?;
    if launch.shared_memory > 0 {
        context.allow_shared_memory(&module, kernel.name(), &found, launch.shared_memory)?;
    }
    // SAFETY: the kernel is of a module that this device has loaded. The caller guarantees the
    // rest.
    unsafe { context.backend.launch(found.handle, launch, arguments) }
}

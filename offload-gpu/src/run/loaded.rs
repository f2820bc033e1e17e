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

/// A module on a device. The module stays loaded as long as the [`Device`] exists.
///
/// Source: `cuModuleLoadDataEx` (CUDA driver API) and `hipModuleLoadData` (HIP).
#[derive(Clone)]
pub struct Loaded {
    device: Device,
    module: Arc<LoadedModule>,
}

impl<F: Form> Module<'_, F> {
    /// Returns the module on this device. The first call on any thread loads the image that fits;
    /// concurrent calls wait for it.
    ///
    /// Returns an error if the driver cannot load the image, or if no image fits. In the latter
    /// case, the error lists the reasons.
    pub fn on(&self, device: &Device) -> Result<Loaded> {
        let module = device.0.module(self).map_err(|error| error.on(|| device.to_string()))?;
        Ok(Loaded { device: device.clone(), module })
    }
}

impl<F: Form> KernelPack<F> {
    /// Returns the module of a single-module pack on this device, like [`Module::on`].
    ///
    /// Returns an error that names the modules if the pack has several.
    pub fn on(&self, device: &Device) -> Result<Loaded> {
        let mut modules = self.modules();
        match (modules.next(), modules.next()) {
            (Some(module), None) => module.on(device),
            _ => {
                let names: Vec<&str> = self.modules().map(|module| module.name()).collect();
                let attempted = format!("load the pack \"{}\"", self.name());
                let why = format!(
                    "it has several modules ({}). Load one with PACK.module(...).on(...)",
                    joined(&names, ", ")
                );
                Err(RunError::refused(attempted, why))
            }
        }
    }
}

impl Loaded {
    /// Returns the loaded image. [`PackImage::decompress`] returns its bytes, for compressed and
    /// plain packs.
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

    /// Returns the driver's handle of the module, for other libraries. The [table of
    /// devices](super) lists the types of handles. The handle is valid until the last clone of the
    /// [`Device`] is dropped, when this crate releases the module.
    ///
    /// In a `cl_program`, the kernels' `extern __shared__` arrays span all remaining local memory
    /// of the device. Launches with dynamic shared memory use separate programs.
    ///
    /// Returns an error if the driver cannot return the handle.
    #[inline]
    pub fn raw_module(&self) -> Result<*mut c_void> {
        let raw = self.device.0.backend.raw_module(self.module.handle);
        raw.map(|handle| handle.0).map_err(|error| error.on(|| self.device.to_string()))
    }

    /// Returns the driver's handle of a kernel, for launches by other libraries: a `CUfunction`, a
    /// `hipFunction_t`, or a `cl_kernel` of the `cl_program` that [`Loaded::raw_module`] returns.
    /// For the CPU, only this crate can use the handle. The handle is valid as long as the module's
    /// handle.
    ///
    /// A `cl_kernel` stores its arguments, and launches by this crate set them. So launch a copy
    /// (`clCloneKernel`), or ensure that no other thread launches the kernel at the same time.
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
    /// Launches the kernel on a device's default stream, and loads its module first if necessary.
    /// `grid` is the number of blocks, and `block` the number of threads in each: `256`,
    /// `(16, 16)`, `(8, 8, 4)`. The call returns when the driver has accepted the launch; copies of
    /// a [`Buffer`](super::Buffer) and [`Device::synchronize`] wait for the kernel.
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
    /// Returns an error if the module cannot be loaded, if the image has no such kernel, or if a
    /// buffer is on a different device. Also returns an error if the image, the device or the
    /// driver does not allow the launch.
    ///
    /// # Safety
    /// The compiler has checked the number and types of the arguments. The caller guarantees the
    /// rest: pointers of the same type are in the right order and point to memory of this device,
    /// with as many elements as the kernel accesses. Until the kernel has finished, this memory
    /// stays valid, and nothing else uses memory that the kernel writes. No thread copies to a
    /// [`Variable`](crate::Variable) that the kernel uses, or from a variable that the kernel
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

    /// Launches like [`Call::launch`], with dynamic shared memory or on a stream.
    ///
    /// # Safety
    /// The conditions of [`Call::launch`] apply, and the stream belongs to this device.
    pub unsafe fn launch_as(&self, device: &Device, launch: &Launch) -> Result<()> {
        let (kernel, mut pointers) = (self.kernel(), self.pointers());
        let (name, pointers) = (kernel.name(), &mut pointers[..]);
        let arguments = Arguments {
            kernel: name,
            pointers,
            addresses: self.addresses,
            #[cfg(feature = "cudarc")]
            events: &self.events,
        };
        // SAFETY: the compiler has checked the types of the arguments. The caller guarantees the
        // rest.
        unsafe { launch_kernel(device, launch, &kernel, &self.devices, arguments) }
    }
}

impl<F: Form> NamedCall<F> {
    /// Launches the kernel on a device's default stream, like [`Call::launch`].
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
    /// Returns an error if arguments are missing, and in the same cases as [`Call::launch`].
    ///
    /// # Safety
    /// The conditions of [`Call::launch`] apply; the number and types of the arguments were checked
    /// at run time.
    pub unsafe fn launch(
        &self,
        device: &Device,
        grid: impl Into<Dim>,
        block: impl Into<Dim>,
    ) -> Result<()> {
        // SAFETY: the caller guarantees the conditions of this launch.
        unsafe { self.launch_as(device, &Launch::new(grid, block)) }
    }

    /// Launches like [`NamedCall::launch`], with dynamic shared memory or on a stream.
    ///
    /// # Safety
    /// The conditions of [`Call::launch`] apply, and the stream belongs to this device.
    pub unsafe fn launch_as(&self, device: &Device, launch: &Launch) -> Result<()> {
        // Most kernels have few parameters: avoid an allocation for them.
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
            addresses: self.addresses,
            #[cfg(feature = "cudarc")]
            events: &self.events,
        };
        // SAFETY: all arguments were passed, and their types checked. The caller guarantees the
        // rest.
        unsafe { launch_kernel(device, launch, &kernel, &self.devices, arguments) }
    }
}

/// Launches a kernel, and loads its module first if necessary.
///
/// # Safety
/// The arguments have the types of the kernel's parameters. The conditions of [`Call::launch`]
/// apply.
unsafe fn launch_kernel<F: Form>(
    device: &Device,
    launch: &Launch,
    kernel: &Kernel<'_, F>,
    buffers: &BufferDevices,
    arguments: Arguments<'_>,
) -> Result<()> {
    let launched = || {
        let context = &device.0;
        let module = context.module(&kernel.module())?;
        let found = context.kernel(&module, kernel)?;
        let image = module.image.target();
        launch.check(
            arguments.kernel,
            image,
            &found.limits,
            &context.limits,
            buffers,
            context.id(),
        )?;
        context.allow_shared_memory(&module, arguments.kernel, &found, launch.shared_memory)?;
        // SAFETY: the kernel belongs to a module that is loaded on this device. The caller
        // guarantees the rest.
        unsafe { context.backend.launch(found.handle, launch, arguments) }
    };
    launched().map_err(|error: RunError| error.on(|| device.to_string()))
}

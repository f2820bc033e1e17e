//! GPUs whose drivers compile SPIR-V, mainly Intel's, through OpenCL.
//!
//! Intel supports OpenCL and Level Zero for its GPUs, but only OpenCL for CPUs, so this module uses
//! OpenCL. Through Intel's extension `cl_intel_unified_shared_memory`, memory has addresses, as in
//! CUDA and HIP. Other vendors' drivers support the extension, too; devices without it cannot be
//! used.

mod program;
mod runtime;

use self::program::{Driver, Kernel, Program};
use self::runtime::{DeviceId, Memory, OpenCl};
use super::backend::{Arguments, Backend, Handle, LoadableImage, NO_VARIABLE, Place};
use super::context::{Context, Modules, shared};
use super::error::{Cause, DriverErrors, Result, RunError, is_about_image, is_not_found};
use super::launch::{DeviceLimits, Launch};
use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ffi::{CStr, c_int, c_uint, c_void};
use core::mem::MaybeUninit;
use core::ptr;
use offload_format::select::DeviceInfo;
use offload_format::target::{SpirvFeatures, SpirvVersion, Vendor};
use std::sync::{Mutex, PoisonError};

/// Returns the devices in the order of the platforms, GPUs first, or only the device with the
/// number `only`. CPUs are returned only by number, since packs have images for the CPU that need
/// no driver.
///
/// Also returns a message that says why other devices cannot be used, or why there are none.
pub(super) fn devices(only: Option<i32>) -> (Vec<Arc<Context>>, Option<String>) {
    let (mut contexts, mut unusable, mut others) = (Vec::new(), Vec::new(), Vec::new());
    let opencl = match OpenCl::get() {
        Ok(opencl) => opencl,
        Err(why) => return (contexts, Some(why)),
    };
    let found = match opencl.devices() {
        Ok(found) => found,
        Err(error) => return (contexts, Some(error.to_string())),
    };
    let count = found.len();
    for (ordinal, id) in (0..).zip(found) {
        match only {
            Some(only) if only != ordinal => continue,
            None if id.is_cpu => {
                others.push(format!(
                    "opencl:{ordinal} is a CPU, which is used only if selected by name"
                ));
                continue;
            }
            _ => {}
        }
        match shared(Vendor::Intel, ordinal, None, &|| open(opencl, id, ordinal)) {
            Ok(context) => contexts.push(context),
            Err(error) if only.is_some() => return (contexts, Some(error.cause().to_string())),
            Err(error) => unusable.push(error.to_string()),
        }
    }
    if contexts.is_empty() {
        if only.is_some() && count != 0 {
            others.push(format!("this machine's last OpenCL device is opencl:{}", count - 1));
        }
        unusable.append(&mut others);
        if unusable.is_empty() {
            unusable.push(opencl.nothing_here());
        }
    }
    let why = (!unusable.is_empty()).then(|| unusable.join("; "));
    (contexts, why)
}

fn open(opencl: &'static OpenCl, id: DeviceId, ordinal: i32) -> Result<Context> {
    let attempted = || format!("use opencl:{ordinal}");
    let text = |what| opencl.text(id.device, what, opencl.clGetDeviceInfo);
    let refused = |why: &str| RunError::refused(attempted(), format!("its driver {why}"));
    let newest = text(runtime::CL_DEVICE_IL_VERSION)
        .split_whitespace()
        .filter_map(|version| SpirvVersion::parse(version.strip_prefix("SPIR-V_")?))
        .max()
        .ok_or_else(|| refused("does not compile SPIR-V"))?;
    // A device that reports no sub-group sizes is assumed to support 32 lanes.
    let sizes: [u64; 16] = opencl.numbers(id.device, runtime::CL_DEVICE_SUB_GROUP_SIZES_INTEL);
    if sizes[0] != 0 && !sizes.contains(&32) {
        return Err(refused("does not support sub-groups of 32 lanes"));
    }
    let extensions = text(runtime::CL_DEVICE_EXTENSIONS);
    let has_memory =
        extensions.split_whitespace().any(|name| name == "cl_intel_unified_shared_memory");
    let memory = opencl.memory(id.platform).filter(|_| has_memory);
    let memory =
        memory.ok_or_else(|| refused("lacks the extension cl_intel_unified_shared_memory"))?;
    let mut code = 0;
    // SAFETY: the device handle is valid, and the call writes one number.
    let context = unsafe {
        let (none, nobody) = (ptr::null(), ptr::null_mut());
        (opencl.clCreateContext)(none, 1, &id.device, ptr::null(), nobody, &mut code)
    };
    opencl.check("clCreateContext", code, attempted)?;
    // SAFETY: context and device belong together. Without properties, the queue is in order.
    let queue = unsafe {
        (opencl.clCreateCommandQueueWithProperties)(context, id.device, ptr::null(), &mut code)
    };
    let gpu = Gpu {
        opencl,
        memory,
        device: Handle(id.device),
        is_cpu: id.is_cpu,
        context: Handle(context),
        queue: Handle(queue),
        launching: Mutex::new(()),
    };
    opencl.check("clCreateCommandQueueWithProperties", code, attempted)?;
    let [shared_memory] = opencl.limits(id.device, runtime::CL_DEVICE_LOCAL_MEM_SIZE);
    let [threads] = opencl.limits(id.device, runtime::CL_DEVICE_MAX_WORK_GROUP_SIZE);
    let [memory] = opencl.numbers(id.device, runtime::CL_DEVICE_GLOBAL_MEM_SIZE);
    Ok(Context {
        vendor: Vendor::Intel,
        ordinal,
        product: text(runtime::CL_DEVICE_NAME),
        info: DeviceInfo::opencl(newest, SpirvFeatures::of_extensions(&extensions)),
        memory: (memory != 0).then_some(memory),
        limits: DeviceLimits {
            threads,
            block: opencl.limits(id.device, runtime::CL_DEVICE_MAX_WORK_ITEM_SIZES),
            grid: [u32::MAX.into(); 3],
            shared_memory,
            shared_memory_on_request: shared_memory,
            reserved_shared_memory: 0,
        },
        foreign: None,
        backend: Box::new(gpu),
        modules: Modules::default(),
    })
}

/// A device with its context and an in-order queue.
struct Gpu {
    opencl: &'static OpenCl,
    memory: Memory,
    device: Handle,
    is_cpu: bool,
    context: Handle,
    queue: Handle,
    /// Locked while a launch sets a kernel's arguments and starts the kernel, since the kernel
    /// object stores the arguments.
    launching: Mutex<()>,
}

impl Drop for Gpu {
    fn drop(&mut self) {
        // SAFETY: the context and the queue are released once, after all modules. Errors are
        // ignored, since nothing can be done about them.
        unsafe {
            (self.opencl.clReleaseCommandQueue)(self.queue.0);
            (self.opencl.clReleaseContext)(self.context.0);
        }
    }
}

/// Advice if the driver rejects the image that was selected for it.
const REFUSED: &str = "The driver may be too old for this SPIR-V: update the driver.";

/// Advice for a buffer that is larger than the device's largest allocation.
const TOO_LARGE: &str = "Divide the data among several buffers.";

impl Gpu {
    /// # Safety
    /// The handle comes from [`Backend::load`] on this device, and is not unloaded.
    unsafe fn program(&self, module: Handle) -> &Program {
        // SAFETY: `load` created the handle from a box, which lives until `unload`.
        unsafe { &*module.0.cast::<Program>() }
    }
}

impl Backend for Gpu {
    fn load(&self, image: &LoadableImage<'_>) -> Result<Handle> {
        let attempted = || format!("load the {} ({} bytes)", image.name, image.bytes.len());
        let may_export =
            !self.is_cpu && self.memory.clGetDeviceGlobalVariablePointerINTEL.is_some();
        let driver =
            Driver { context: self.context, device: self.device, is_cpu: self.is_cpu, may_export };
        let made = Program::new(self.opencl, driver, image.bytes, &attempted);
        let made = made.map_err(|error| error.advice_for(is_about_image, REFUSED))?;
        Ok(Handle(Box::into_raw(Box::new(made)).cast()))
    }

    fn unload(&self, module: Handle) {
        // SAFETY: `load` created the handle from a box, and each module is unloaded once.
        drop(unsafe { Box::from_raw(module.0.cast::<Program>()) });
    }

    fn raw_module(&self, module: Handle) -> Result<Handle> {
        // SAFETY: the module is loaded.
        Ok(unsafe { self.program(module) }.raw())
    }

    fn function(&self, module: Handle, name: &CStr) -> Result<(Handle, Option<u64>)> {
        // SAFETY: the module is loaded.
        let kernel = unsafe { self.program(module) }.kernel(name)?;
        Ok((Handle(ptr::from_ref(kernel).cast_mut().cast()), None))
    }

    fn raw_function(&self, function: Handle) -> Handle {
        // SAFETY: `function` returned the address of a kernel, which lives as long as its module.
        unsafe { &*function.0.cast::<Kernel>() }.raw()
    }

    fn variable(
        &self,
        module: Handle,
        name: &CStr,
        attempted: &dyn Fn() -> String,
    ) -> Result<Place> {
        const FUNCTION: &str = "clGetDeviceGlobalVariablePointerINTEL";
        let find = self.memory.clGetDeviceGlobalVariablePointerINTEL.ok_or_else(|| {
            RunError::refused(
                attempted(),
                format!("the device's driver has no function {FUNCTION}"),
            )
            .advice("Pass the values in a buffer.")
        })?;
        let (mut size, mut start) = (0, ptr::null_mut());
        // SAFETY: the module is loaded, and the name ends with a NUL.
        let code = unsafe {
            let program = self.program(module).raw();
            find(self.device.0, program.0, name.as_ptr(), &mut size, &mut start)
        };
        let checked = self.opencl.check(FUNCTION, code, attempted);
        checked.map_err(|error| error.advice_for(is_not_found, NO_VARIABLE))?;
        Ok(Place { start: Handle(start), size, may_be_smaller: false })
    }

    unsafe fn launch(
        &self,
        function: Handle,
        launch: &Launch,
        arguments: Arguments<'_>,
    ) -> Result<()> {
        // SAFETY: `function` returned the address of a kernel, which lives as long as its module.
        let kernel = unsafe { &*function.0.cast::<Kernel>() };
        let attempted = || format!("launch {}", arguments.kernel);
        let count = (kernel.parameters.len(), arguments.pointers.len());
        if count.0 != count.1 {
            let why = format!(
                "the image's kernel has {} parameters, but the call passes {} arguments",
                count.0, count.1
            );
            return Err(RunError::refused(attempted(), why));
        }
        // `offload/spirv.h` expects a block of one dimension, and its real size as the offset.
        let size = launch.block.0.map(|threads| threads as usize);
        let block = [size.iter().product(), 1, 1];
        if block[0] > kernel.threads {
            let (threads, most) = (block[0], kernel.threads);
            let why = format!(
                "the block has {threads} threads, but the driver allows at most {most} for this kernel"
            );
            return Err(RunError::refused(attempted(), why).advice(
                "The driver allows more if each thread needs less memory and fewer registers.",
            ));
        }
        let raw = kernel.for_shared_memory(launch.shared_memory)?.0;
        let _launching = self.launching.lock().unwrap_or_else(PoisonError::into_inner);
        for (number, (parameter, pointer)) in
            (0..).zip(kernel.parameters.iter().zip(&*arguments.pointers))
        {
            let pointer = pointer.cast_const();
            // SAFETY: the caller guarantees that each address points to an argument of the kernel's
            // type. The driver copies the argument.
            let code = unsafe {
                if parameter.is_address {
                    let address = pointer.cast::<*const c_void>().read_unaligned();
                    (self.memory.clSetKernelArgMemPointerINTEL)(raw, number, address)
                } else {
                    (self.opencl.clSetKernelArg)(raw, number, parameter.size, pointer)
                }
            };
            self.opencl.check("clSetKernelArg", code, attempted)?;
        }
        let grid: [usize; 3] = core::array::from_fn(|at| launch.grid.0[at] as usize * block[at]);
        let queue = if launch.stream.is_null() { self.queue.0 } else { launch.stream };
        // SAFETY: the kernel's arguments are set. The caller guarantees the rest.
        let code = unsafe {
            let (none, no_event) = (ptr::null(), ptr::null_mut());
            (self.opencl.clEnqueueNDRangeKernel)(
                queue,
                raw,
                3,
                size.as_ptr(),
                grid.as_ptr(),
                block.as_ptr(),
                0,
                none,
                no_event,
            )
        };
        self.opencl.check("clEnqueueNDRangeKernel", code, attempted)?;
        // SAFETY: the queue is alive.
        self.opencl.check("clFlush", unsafe { (self.opencl.clFlush)(queue) }, attempted)
    }

    fn allocate(&self, size: usize) -> Result<Handle> {
        let (allocate, mut code) = (self.memory.clDeviceMemAllocINTEL, 0);
        // SAFETY: context and device are alive. The alignment 0 means the largest of any type.
        let address =
            unsafe { allocate(self.context.0, self.device.0, ptr::null(), size, 0, &mut code) };
        let attempted = || format!("allocate {size} bytes on the device");
        if address.is_null() {
            let [most] = self.opencl.limits(self.device.0, runtime::CL_DEVICE_MAX_MEM_ALLOC_SIZE);
            if size as u64 > most {
                let name = runtime::name(code);
                let text =
                    format!("{name}: the device allows at most {most} bytes in one allocation");
                let cause = Cause::Driver { function: "clDeviceMemAllocINTEL", code, text };
                return Err(RunError::new(attempted(), cause).advice(TOO_LARGE));
            }
        }
        self.opencl.check("clDeviceMemAllocINTEL", code, attempted).map(|()| Handle(address))
    }

    unsafe fn free(&self, memory: Handle, _size: usize) {
        // SAFETY: the caller guarantees that the memory can be freed.
        unsafe { (self.memory.clMemBlockingFreeINTEL)(self.context.0, memory.0) };
    }

    unsafe fn upload(&self, to: Handle, from: &[MaybeUninit<u8>]) -> Result<()> {
        // SAFETY: the caller guarantees that `to` has room for these bytes.
        let code = unsafe { self.copy(to.0, from.as_ptr().cast(), from.len()) };
        let attempted = || format!("copy {} bytes to the device", from.len());
        self.opencl.check("clEnqueueMemcpyINTEL", code, attempted)
    }

    unsafe fn download(&self, to: *mut u8, from: Handle, size: usize) -> Result<()> {
        // SAFETY: the caller guarantees that `to` and `from` have `size` bytes.
        let code = unsafe { self.copy(to.cast(), from.0, size) };
        self.opencl
            .check("clEnqueueMemcpyINTEL", code, || format!("copy {size} bytes from the device"))
    }

    fn synchronize(&self) -> Result<()> {
        // SAFETY: the queue is alive.
        let code = unsafe { (self.opencl.clFinish)(self.queue.0) };
        self.opencl.check("clFinish", code, || "wait for the device".to_string())
    }
}

impl Gpu {
    /// Copies after all earlier work, and waits for it.
    ///
    /// # Safety
    /// The source and the destination have `size` bytes.
    unsafe fn copy(&self, to: *mut c_void, from: *const c_void, size: usize) -> c_int {
        const WAIT: c_uint = 1;
        let copy = self.memory.clEnqueueMemcpyINTEL;
        // SAFETY: the queue is alive, and the caller guarantees the rest.
        unsafe { copy(self.queue.0, WAIT, to, from, size, 0, ptr::null(), ptr::null_mut()) }
    }
}

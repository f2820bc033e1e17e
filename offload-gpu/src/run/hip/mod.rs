//! AMD's GPUs, through the HIP runtime.

mod runtime;

use self::runtime::Hip;
use super::backend::{Arguments, Backend, Handle, LoadableImage, NO_VARIABLE, Place};
use super::context::{Context, Modules, all_shared};
use super::error::{DriverErrors, Result, RunError, is_about_image, is_not_found};
use super::launch::{DeviceLimits, Launch};
use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ffi::{CStr, c_int, c_void};
use core::mem::MaybeUninit;
use core::ptr;
use offload_format::select::DeviceInfo;
use offload_format::target::Vendor;

/// Returns the GPUs, in the runtime's order.
///
/// Returns an error message if there is no runtime or no GPU.
pub(super) fn devices() -> core::result::Result<Vec<Arc<Context>>, String> {
    let hip = Hip::get()?;
    let count = hip.count().map_err(|error| error.to_string())?;
    if count == 0 {
        return Err(hip.no_gpu());
    }
    all_shared(Vendor::Amd, count, &|ordinal| open(hip, ordinal))
}

fn open(hip: &'static Hip, ordinal: c_int) -> Result<Context> {
    let properties = hip.properties(ordinal)?;
    let places = properties.places;
    let target = properties.text(places.gcn_arch_name);
    let info = DeviceInfo::hip(&target).map_err(|error| {
        RunError::refused(
            format!("use hip:{ordinal}"),
            format!("its driver reports an invalid target: {error}"),
        )
    })?;
    // Launches can use all shared memory without a request to the driver.
    let shared_memory = properties.u64(places.shared_mem_per_block);
    Ok(Context {
        vendor: Vendor::Amd,
        ordinal,
        product: properties.text(0),
        info,
        memory: Some(properties.u64(places.total_global_mem)),
        limits: DeviceLimits {
            threads: properties.u32(places.max_threads_per_block),
            block: properties.three(places.max_threads_dim),
            grid: properties.three(places.max_grid_size),
            shared_memory,
            shared_memory_on_request: shared_memory,
            reserved_shared_memory: 0,
        },
        foreign: None,
        backend: Box::new(Gpu { hip, ordinal }),
        modules: Modules::default(),
    })
}

/// An AMD GPU. HIP creates the GPU's only context on demand.
struct Gpu {
    hip: &'static Hip,
    ordinal: c_int,
}

/// Keeps a GPU current on this thread; dropping the value restores the previous GPU.
struct Current {
    hip: &'static Hip,
    before: Option<c_int>,
}

impl Drop for Current {
    fn drop(&mut self) {
        if let Some(before) = self.before {
            // SAFETY: this GPU was current before. Errors are ignored, since nothing can be done
            // about them.
            unsafe { (self.hip.hipSetDevice)(before) };
        }
    }
}

impl Gpu {
    fn current(&self) -> Result<Current> {
        let (hip, mut before) = (self.hip, 0);
        let attempted = || "make the GPU current".to_string();
        // SAFETY: the call writes one int.
        hip.check("hipGetDevice", unsafe { (hip.hipGetDevice)(&mut before) }, attempted)?;
        if before == self.ordinal {
            return Ok(Current { hip, before: None });
        }
        // SAFETY: an out-of-range number is an error.
        hip.check("hipSetDevice", unsafe { (hip.hipSetDevice)(self.ordinal) }, attempted)?;
        Ok(Current { hip, before: Some(before) })
    }

    /// Makes the GPU current in order to release something; returns `None` if the runtime fails.
    fn current_to_end(&self) -> Option<Current> {
        // Any call may return the error of an earlier launch, but the runtime returns it only once,
        // so try again.
        self.current().or_else(|_| self.current()).ok()
    }
}

/// Advice if the runtime rejects the image that was selected for it.
const REFUSED: &str = "The HIP runtime may be too old for this image: update ROCm.";

impl Backend for Gpu {
    fn load(&self, image: &LoadableImage<'_>) -> Result<Handle> {
        let _current = self.current()?;
        let mut module = ptr::null_mut();
        // SAFETY: the pointer points to a whole code object, whose headers contain its size.
        let code = unsafe { (self.hip.hipModuleLoadData)(&mut module, image.start) };
        let attempted = || format!("load the {} ({} bytes)", image.name, image.bytes.len());
        self.hip
            .check("hipModuleLoadData", code, attempted)
            .map_err(|error| error.advice_for(is_about_image, REFUSED))?;
        Ok(Handle(module))
    }

    fn unload(&self, module: Handle) {
        if let Some(_current) = self.current_to_end() {
            // SAFETY: the module was loaded on this GPU, and is unloaded once.
            unsafe { (self.hip.hipModuleUnload)(module.0) };
        }
    }

    fn function(&self, module: Handle, name: &CStr) -> Result<(Handle, Option<u64>)> {
        let _current = self.current()?;
        let mut function = ptr::null_mut();
        // SAFETY: the module is loaded, and the name ends with a NUL.
        let code =
            unsafe { (self.hip.hipModuleGetFunction)(&mut function, module.0, name.as_ptr()) };
        let attempted = || format!("find the kernel {}", name.to_string_lossy());
        self.hip.check("hipModuleGetFunction", code, attempted)?;
        Ok((Handle(function), None))
    }

    fn variable(
        &self,
        module: Handle,
        name: &CStr,
        attempted: &dyn Fn() -> String,
    ) -> Result<Place> {
        let _current = self.current()?;
        let (mut start, mut size, name) = (ptr::null_mut(), 0, name.as_ptr());
        // SAFETY: the module is loaded, and the name ends with a NUL.
        let code = unsafe { (self.hip.hipModuleGetGlobal)(&mut start, &mut size, module.0, name) };
        let checked = self.hip.check("hipModuleGetGlobal", code, attempted);
        checked.map_err(|error| error.advice_for(is_not_found, NO_VARIABLE))?;
        Ok(Place { start: Handle(start), size, may_be_smaller: false })
    }

    unsafe fn launch(
        &self,
        function: Handle,
        launch: &Launch,
        arguments: Arguments<'_>,
    ) -> Result<()> {
        let _current = self.current()?;
        let ([gx, gy, gz], [bx, by, bz]) = (launch.grid.0, launch.block.0);
        // The cast is exact: the size was checked against the device's limit.
        let shared = launch.shared_memory as u32;
        let (pointers, extra) = (arguments.pointers.as_mut_ptr(), ptr::null_mut());
        let (run, stream) = (self.hip.hipModuleLaunchKernel, launch.stream);
        // SAFETY: the function's module is loaded on this GPU. The runtime copies the arguments
        // before it returns. The caller guarantees the rest.
        let code =
            unsafe { run(function.0, gx, gy, gz, bx, by, bz, shared, stream, pointers, extra) };
        self.hip.check("hipModuleLaunchKernel", code, || format!("launch {}", arguments.kernel))
    }

    fn allocate(&self, size: usize) -> Result<Handle> {
        let _current = self.current()?;
        let mut address = ptr::null_mut();
        // SAFETY: the call writes one pointer.
        let code = unsafe { (self.hip.hipMalloc)(&mut address, size) };
        self.hip.check("hipMalloc", code, || format!("allocate {size} bytes on the GPU"))?;
        Ok(Handle(address))
    }

    unsafe fn free(&self, memory: Handle, _size: usize) {
        if let Some(_current) = self.current_to_end() {
            // SAFETY: the caller guarantees that the memory can be freed.
            unsafe { (self.hip.hipFree)(memory.0) };
        }
    }

    unsafe fn upload(&self, to: Handle, from: &[MaybeUninit<u8>]) -> Result<()> {
        let _current = self.current()?;
        let from_address: *const c_void = from.as_ptr().cast();
        // SAFETY: the caller guarantees that `to` has room for these bytes.
        let code = unsafe {
            (self.hip.hipMemcpy)(to.0, from_address, from.len(), runtime::HOST_TO_DEVICE)
        };
        self.hip.check("hipMemcpy", code, || format!("copy {} bytes to the GPU", from.len()))
    }

    unsafe fn download(&self, to: *mut u8, from: Handle, size: usize) -> Result<()> {
        let _current = self.current()?;
        // SAFETY: the caller guarantees that `to` and `from` have `size` bytes.
        let code =
            unsafe { (self.hip.hipMemcpy)(to.cast(), from.0, size, runtime::DEVICE_TO_HOST) };
        self.hip.check("hipMemcpy", code, || format!("copy {size} bytes from the GPU"))
    }

    fn synchronize(&self) -> Result<()> {
        let _current = self.current()?;
        // SAFETY: a GPU is current.
        let code = unsafe { (self.hip.hipDeviceSynchronize)() };
        self.hip.check("hipDeviceSynchronize", code, || "wait for the GPU".to_string())
    }
}

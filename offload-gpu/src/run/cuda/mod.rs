//! NVIDIA's GPUs, through the CUDA driver.

#[cfg(feature = "cudarc")]
mod cudarc_order;
mod driver;

use self::driver::{CUcontext, CUdevice, CUdeviceptr, Driver};
use super::backend::{Arguments, Backend, Handle, LoadableImage, NO_VARIABLE, Place};
use super::context::{Context, ForeignContext, Modules, all_shared, shared};
use super::error::{Cause, DriverErrors, Result, RunError, is_about_image, is_not_found};
use super::launch::{DeviceLimits, Launch};
use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ffi::{CStr, c_int, c_void};
use core::mem::MaybeUninit;
use core::ptr;
use offload_format::select::{ComputeCapability, DeviceInfo};
use offload_format::target::Vendor;
use std::sync::OnceLock;

/// Returns the GPUs, in the driver's order.
///
/// Returns an error message if there is no driver or no GPU.
pub(super) fn devices() -> core::result::Result<Vec<Arc<Context>>, String> {
    let driver = Driver::get()?;
    let count = count(driver).map_err(|error| error.to_string())?;
    if count == 0 {
        return Err(driver.no_gpu());
    }
    all_shared(Vendor::Nvidia, count, &|ordinal| open(driver, ordinal, None))
}

/// Returns the GPU of a context that another library created.
///
/// # Safety
/// `context` is a valid context that lives as long as the result.
// The functions for contexts of other libraries are `#[inline]`, so that rustc compiles them only
// in the few programs that call them.
#[inline]
pub(super) unsafe fn foreign(context: CUcontext) -> Result<Arc<Context>> {
    let attempted = || "use a CUDA context".to_string();
    let driver = Driver::get()
        .map_err(|why| RunError::new(attempted(), Cause::Absent(Vendor::Nvidia, why)))?;
    if context.is_null() {
        return Err(RunError::refused(attempted(), "the context is null"));
    }
    let handle = Handle(context);
    let mut device = 0;
    let found = Current::new(driver, context).and_then(|_current| {
        // SAFETY: a context is current; the call writes one int.
        let code = unsafe { (driver.cuCtxGetDevice)(&mut device) };
        driver.check("cuCtxGetDevice", code, attempted)
    });
    found?;
    let ordinal = ordinal(driver, device)?;
    if is_primary(driver, device, context)? {
        return shared(Vendor::Nvidia, ordinal, None, &|| open(driver, ordinal, None));
    }
    let mut id = None;
    if let Some(get_id) = driver.cuCtxGetId {
        let id = id.insert(0);
        // SAFETY: the call writes one number.
        driver.check("cuCtxGetId", unsafe { get_id(context, id) }, attempted)?;
    }
    let foreign = ForeignContext { handle, id };
    shared(Vendor::Nvidia, ordinal, Some(foreign), &|| open(driver, ordinal, Some(foreign)))
}

/// Whether a context is the primary context, which all libraries of a program share.
#[inline]
fn is_primary(driver: &Driver, device: CUdevice, context: CUcontext) -> Result<bool> {
    let attempted = || "get the GPU's context".to_string();
    let (mut flags, mut is_active) = (0, 0);
    // SAFETY: the call writes two numbers.
    let code = unsafe { (driver.cuDevicePrimaryCtxGetState)(device, &mut flags, &mut is_active) };
    driver.check("cuDevicePrimaryCtxGetState", code, attempted)?;
    // Return early if the primary context does not exist: retaining would create it.
    if is_active == 0 {
        return Ok(false);
    }
    let mut primary = ptr::null_mut();
    // SAFETY: the call writes one CUcontext.
    let code = unsafe { (driver.cuDevicePrimaryCtxRetain)(&mut primary, device) };
    driver.check("cuDevicePrimaryCtxRetain", code, attempted)?;
    // SAFETY: this releases the reference that was just retained.
    unsafe { (driver.cuDevicePrimaryCtxRelease_v2)(device) };
    Ok(primary == context)
}

fn count(driver: &Driver) -> Result<c_int> {
    let mut count = 0;
    // SAFETY: the call writes one int.
    let code = unsafe { (driver.cuDeviceGetCount)(&mut count) };
    driver.check("cuDeviceGetCount", code, || "count the GPUs".to_string())?;
    Ok(count)
}

fn device(driver: &Driver, ordinal: c_int) -> Result<CUdevice> {
    let mut device = 0;
    // SAFETY: the call writes one CUdevice; an out-of-range number is an error.
    let code = unsafe { (driver.cuDeviceGet)(&mut device, ordinal) };
    driver.check("cuDeviceGet", code, || format!("open cuda:{ordinal}"))?;
    Ok(device)
}

/// Returns the number of the GPU with this handle. Current drivers use the number as the handle,
/// but do not guarantee that.
#[inline]
fn ordinal(driver: &Driver, wanted: CUdevice) -> Result<c_int> {
    for ordinal in 0..count(driver)? {
        if device(driver, ordinal)? == wanted {
            return Ok(ordinal);
        }
    }
    Err(RunError::refused("use a CUDA context", "the driver does not list the context's GPU"))
}

/// Reads the properties of a GPU, without creating a context.
fn open(
    driver: &'static Driver,
    ordinal: c_int,
    foreign: Option<ForeignContext>,
) -> Result<Context> {
    let device = device(driver, ordinal)?;
    let attempted = || format!("read the properties of cuda:{ordinal}");
    let attribute = |attribute: c_int| {
        let mut value = 0;
        // SAFETY: the call writes one int.
        let code = unsafe { (driver.cuDeviceGetAttribute)(&mut value, attribute, device) };
        driver.check("cuDeviceGetAttribute", code, attempted).map(|()| value.unsigned_abs())
    };
    let three = |first: c_int| -> Result<[u64; 3]> {
        Ok([attribute(first)?.into(), attribute(first + 1)?.into(), attribute(first + 2)?.into()])
    };
    let mut name = [0_u8; 256];
    let (mut memory, mut version) = (0, 0);
    // SAFETY: the buffer for the name has 256 bytes; the other two calls write one number each.
    unsafe {
        driver.check(
            "cuDeviceGetName",
            (driver.cuDeviceGetName)(name.as_mut_ptr().cast(), 256, device),
            attempted,
        )?;
        driver.check(
            "cuDeviceTotalMem_v2",
            (driver.cuDeviceTotalMem_v2)(&mut memory, device),
            attempted,
        )?;
        driver.check("cuDriverGetVersion", (driver.cuDriverGetVersion)(&mut version), attempted)?;
    }
    let name = name.split(|&byte| byte == 0).next().unwrap_or_default();
    let product = String::from_utf8_lossy(name).into_owned();
    let capability = ComputeCapability {
        major: attribute(driver::COMPUTE_CAPABILITY_MAJOR)?,
        minor: attribute(driver::COMPUTE_CAPABILITY_MINOR)?,
    };
    let shared_memory = attribute(driver::MAX_SHARED_MEMORY_PER_BLOCK)?.into();
    let limits = DeviceLimits {
        threads: attribute(driver::MAX_THREADS_PER_BLOCK)?.into(),
        block: three(driver::MAX_BLOCK_DIM_X)?,
        grid: three(driver::MAX_GRID_DIM_X)?,
        shared_memory,
        shared_memory_on_request: attribute(driver::MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?.into(),
        // From compute capability 8.0 on, the driver reserves 1 KiB of shared memory in each block,
        // but ptxas includes it in a kernel's size only from 9.0 on.
        reserved_shared_memory: if capability.major >= 9 { 1024 } else { 0 },
    };
    let context = OnceLock::new();
    if let Some(foreign) = foreign {
        let _ = context.set(foreign.handle);
    }
    Ok(Context {
        vendor: Vendor::Nvidia,
        ordinal,
        product,
        info: DeviceInfo::cuda(capability, version.unsigned_abs()),
        memory: Some(memory as u64),
        limits,
        foreign,
        backend: Box::new(Cuda { driver, device, context, foreign }),
        modules: Modules::default(),
    })
}

/// A context on a GPU.
struct Cuda {
    driver: &'static Driver,
    device: CUdevice,
    /// The GPU's primary context, retained on first use, or the context of another library.
    context: OnceLock<Handle>,
    foreign: Option<ForeignContext>,
}

/// Keeps a context current on this thread. Dropping the value restores the previous context.
struct Current {
    driver: &'static Driver,
    is_pushed: bool,
}

impl Current {
    fn new(driver: &'static Driver, context: CUcontext) -> Result<Self> {
        let mut before = ptr::null_mut();
        // SAFETY: the call writes one CUcontext.
        let code = unsafe { (driver.cuCtxGetCurrent)(&mut before) };
        let attempted = || "make the GPU's context current".to_string();
        driver.check("cuCtxGetCurrent", code, attempted)?;
        let is_pushed = before != context;
        if is_pushed {
            // SAFETY: the context exists, because it was retained or its owner guarantees its
            // lifetime.
            let code = unsafe { (driver.cuCtxPushCurrent_v2)(context) };
            driver.check("cuCtxPushCurrent_v2", code, attempted)?;
        }
        Ok(Self { driver, is_pushed })
    }
}

impl Drop for Current {
    fn drop(&mut self) {
        if self.is_pushed {
            let mut context = ptr::null_mut();
            // SAFETY: the context was pushed on this thread. Errors are ignored, since nothing can
            // be done about them.
            unsafe { (self.driver.cuCtxPopCurrent_v2)(&mut context) };
        }
    }
}

impl Cuda {
    /// Makes the context current as long as the result exists.
    fn current(&self) -> Result<Current> {
        if let Some(context) = self.context.get() {
            return Current::new(self.driver, context.0);
        }
        let mut context = ptr::null_mut();
        // SAFETY: the call writes one CUcontext.
        let code = unsafe { (self.driver.cuDevicePrimaryCtxRetain)(&mut context, self.device) };
        self.driver.check("cuDevicePrimaryCtxRetain", code, || {
            "create a context on the GPU".to_string()
        })?;
        if self.context.set(Handle(context)).is_err() {
            // Another thread has retained the context first. The driver counts references, so
            // release this one. SAFETY: the context was just retained, and the other thread's
            // reference remains.
            unsafe { (self.driver.cuDevicePrimaryCtxRelease_v2)(self.device) };
        }
        Current::new(self.driver, context)
    }

    /// Makes the context current in order to release something. Returns `None` if the context no
    /// longer exists, or if the driver fails.
    fn current_to_end(&self) -> Option<Current> {
        if let (Some(ForeignContext { handle, id: Some(id) }), Some(get_id)) =
            (self.foreign, self.driver.cuCtxGetId)
        {
            let mut now = 0;
            // SAFETY: the call writes one number. This is the driver's way to test whether a
            // context exists.
            let code = unsafe { get_id(handle.0, &mut now) };
            if code == driver::CUDA_ERROR_INVALID_CONTEXT
                || code == driver::CUDA_ERROR_CONTEXT_IS_DESTROYED
                || now != id && code == driver::CUDA_SUCCESS
            {
                return None;
            }
        }
        // Any call may return the error of an earlier launch, but the driver returns it only once,
        // so try again.
        self.current().or_else(|_| self.current()).ok()
    }
}

impl Drop for Cuda {
    fn drop(&mut self) {
        if let (Some(_), None) = (self.context.get(), self.foreign) {
            // SAFETY: the context was retained once, and nothing that was created in it remains.
            // Errors are ignored, since nothing can be done about them.
            unsafe { (self.driver.cuDevicePrimaryCtxRelease_v2)(self.device) };
        }
    }
}

/// Advice if the driver rejects the image that was selected for it.
const REFUSED: &str = "Update the driver, or add this GPU's own target in build.rs.";

impl Backend for Cuda {
    fn load(&self, image: &LoadableImage<'_>) -> Result<Handle> {
        let driver = self.driver;
        let _current = self.current()?;
        let mut module = ptr::null_mut();
        let (function, code) = match Driver::libraries() {
            Some(libraries) => {
                let (load, start) = (libraries.cuLibraryLoadData, image.start);
                let (none, no_values) = (ptr::null_mut(), ptr::null_mut());
                // SAFETY: the pointer points to a whole cubin or to NUL-terminated PTX, and no
                // options are passed.
                let code =
                    unsafe { load(&mut module, start, none, no_values, 0, none, no_values, 0) };
                ("cuLibraryLoadData", code)
            }
            None => {
                // SAFETY: as above.
                let code = unsafe { (driver.cuModuleLoadData)(&mut module, image.start) };
                ("cuModuleLoadData", code)
            }
        };
        let attempted = || format!("load the {} ({} bytes)", image.name, image.bytes.len());
        let loaded = driver.check(function, code, attempted);
        loaded.map_err(|error| error.advice_for(is_about_image, REFUSED))?;
        Ok(Handle(module))
    }

    fn unload(&self, module: Handle) {
        let current = self.current_to_end();
        if let Some(libraries) = Driver::libraries() {
            // SAFETY: the module was loaded as a library, and is unloaded once. Unloading needs no
            // current context.
            unsafe { (libraries.cuLibraryUnload)(module.0) };
        } else if current.is_some() {
            // SAFETY: the module was loaded by the driver and is unloaded once, and its context
            // exists.
            unsafe { (self.driver.cuModuleUnload)(module.0) };
        }
    }

    fn raw_module(&self, module: Handle) -> Result<Handle> {
        let Some(libraries) = Driver::libraries() else { return Ok(module) };
        let _current = self.current()?;
        let mut raw = ptr::null_mut();
        // SAFETY: the library is loaded; the call writes one CUmodule.
        let code = unsafe { (libraries.cuLibraryGetModule)(&mut raw, module.0) };
        self.driver
            .check("cuLibraryGetModule", code, || "get the module of a library".to_string())?;
        Ok(Handle(raw))
    }

    fn function(&self, module: Handle, name: &CStr) -> Result<(Handle, Option<u64>)> {
        let driver = self.driver;
        let _current = self.current()?;
        let (mut function, mut shared_memory) = (ptr::null_mut(), 0);
        let attempted = || format!("find the kernel {}", name.to_string_lossy());
        if let Some(libraries) = Driver::libraries() {
            let mut kernel = ptr::null_mut();
            // SAFETY: the library is loaded, and the name ends with a NUL.
            let code =
                unsafe { (libraries.cuLibraryGetKernel)(&mut kernel, module.0, name.as_ptr()) };
            driver.check("cuLibraryGetKernel", code, attempted)?;
            // SAFETY: the kernel's library is loaded, and a context is current.
            let code = unsafe { (libraries.cuKernelGetFunction)(&mut function, kernel) };
            driver.check("cuKernelGetFunction", code, attempted)?;
        } else {
            // SAFETY: the module is loaded, and the name ends with a NUL.
            let code =
                unsafe { (driver.cuModuleGetFunction)(&mut function, module.0, name.as_ptr()) };
            driver.check("cuModuleGetFunction", code, attempted)?;
        }
        let (ask, attribute) = (driver.cuFuncGetAttribute, driver::SHARED_SIZE_BYTES);
        // SAFETY: the function belongs to a loaded module; the call writes one int.
        let code = unsafe { ask(&mut shared_memory, attribute, function) };
        driver.check("cuFuncGetAttribute", code, attempted)?;
        Ok((Handle(function), Some(shared_memory.unsigned_abs().into())))
    }

    fn variable(
        &self,
        module: Handle,
        name: &CStr,
        attempted: &dyn Fn() -> String,
    ) -> Result<Place> {
        // A library's module for this context contains the context's own copy of the variable.
        let module = self.raw_module(module)?;
        let _current = self.current()?;
        let (mut start, mut size, name): (CUdeviceptr, _, _) = (0, 0, name.as_ptr());
        // SAFETY: the module is loaded, and the name ends with a NUL.
        let code =
            unsafe { (self.driver.cuModuleGetGlobal_v2)(&mut start, &mut size, module.0, name) };
        let checked = self.driver.check("cuModuleGetGlobal_v2", code, attempted);
        checked.map_err(|error| error.advice_for(is_not_found, NO_VARIABLE))?;
        Ok(Place { start: Handle(start as *mut c_void), size, may_be_smaller: false })
    }

    fn allow_shared_memory(&self, function: Handle, bytes: usize) -> Result<()> {
        let _current = self.current()?;
        let attempted = || format!("allow a kernel {bytes} bytes of dynamic shared memory");
        let value = c_int::try_from(bytes)
            .map_err(|_| RunError::refused(attempted(), "no device has that much"))?;
        // SAFETY: the function belongs to a loaded module.
        let code = unsafe {
            (self.driver.cuFuncSetAttribute)(
                function.0,
                driver::MAX_DYNAMIC_SHARED_SIZE_BYTES,
                value,
            )
        };
        self.driver.check("cuFuncSetAttribute", code, attempted)
    }

    unsafe fn launch(
        &self,
        function: Handle,
        launch: &Launch,
        arguments: Arguments<'_>,
    ) -> Result<()> {
        let _current = self.current()?;
        #[cfg(feature = "cudarc")]
        cudarc_order::before(self.driver, launch.stream, &arguments)?;
        let ([gx, gy, gz], [bx, by, bz]) = (launch.grid.0, launch.block.0);
        // The cast is exact: the size was checked against the device's limit.
        let shared = launch.shared_memory as u32;
        let (pointers, extra) = (arguments.pointers.as_mut_ptr(), ptr::null_mut());
        let (run, stream) = (self.driver.cuLaunchKernel, launch.stream);
        // SAFETY: the function's module is loaded in this context. The driver copies the arguments
        // before it returns. The caller guarantees the rest.
        let code =
            unsafe { run(function.0, gx, gy, gz, bx, by, bz, shared, stream, pointers, extra) };
        self.driver.check("cuLaunchKernel", code, || format!("launch {}", arguments.kernel))?;
        #[cfg(feature = "cudarc")]
        cudarc_order::after(self.driver, launch.stream, &arguments)?;
        Ok(())
    }

    fn allocate(&self, size: usize) -> Result<Handle> {
        let _current = self.current()?;
        let mut address: CUdeviceptr = 0;
        // SAFETY: the call writes one CUdeviceptr.
        let code = unsafe { (self.driver.cuMemAlloc_v2)(&mut address, size) };
        self.driver.check("cuMemAlloc_v2", code, || format!("allocate {size} bytes on the GPU"))?;
        Ok(Handle(address as *mut c_void))
    }

    unsafe fn free(&self, memory: Handle, _size: usize) {
        if let Some(_current) = self.current_to_end() {
            // SAFETY: the caller guarantees that the memory can be freed.
            unsafe { (self.driver.cuMemFree_v2)(memory.0.addr() as CUdeviceptr) };
        }
    }

    unsafe fn upload(&self, to: Handle, from: &[MaybeUninit<u8>]) -> Result<()> {
        let _current = self.current()?;
        // SAFETY: the caller guarantees that `to` has room for these bytes.
        let code = unsafe {
            (self.driver.cuMemcpyHtoD_v2)(
                to.0.addr() as CUdeviceptr,
                from.as_ptr().cast(),
                from.len(),
            )
        };
        let attempted = || format!("copy {} bytes to the GPU", from.len());
        self.driver.check("cuMemcpyHtoD_v2", code, attempted)?;
        // The copy may return before the bytes have reached the GPU, where a stream that does not
        // wait for the default stream would not see them ("API synchronization behavior" in the
        // driver's manual). SAFETY: a context is current; null is the default stream.
        let code = unsafe { (self.driver.cuStreamSynchronize)(ptr::null_mut()) };
        self.driver.check("cuStreamSynchronize", code, attempted)
    }

    unsafe fn download(&self, to: *mut u8, from: Handle, size: usize) -> Result<()> {
        let _current = self.current()?;
        // SAFETY: the caller guarantees that `to` and `from` have `size` bytes.
        let code =
            unsafe { (self.driver.cuMemcpyDtoH_v2)(to.cast(), from.0.addr() as CUdeviceptr, size) };
        self.driver.check("cuMemcpyDtoH_v2", code, || format!("copy {size} bytes from the GPU"))
    }

    fn synchronize(&self) -> Result<()> {
        let _current = self.current()?;
        // SAFETY: a context is current.
        let code = unsafe { (self.driver.cuCtxSynchronize)() };
        self.driver.check("cuCtxSynchronize", code, || "wait for the GPU".to_string())
    }
}

//! NVIDIA's driver.

use super::{Driver, Result, library};
use offload_gpu::run::Device;
use std::ffi::{c_int, c_uint, c_void};
use std::ptr;

type CUresult = c_int;

type Set = unsafe extern "C" fn(*mut c_void) -> CUresult;

/// Loads the driver.
pub(super) fn load(device: &Device) -> Result<Driver> {
    let names = if cfg!(windows) { ["nvcuda.dll"] } else { ["libcuda.so.1"] };
    let names_of_functions = [
        "cuModuleLoadData",
        "cuModuleUnload",
        "cuModuleGetFunction",
        "cuLaunchKernel",
        "cuCtxSynchronize",
    ];
    Driver::new(library(&names)?, device, names_of_functions)
}

/// Makes the primary context of the driver's GPU current.
pub(super) fn enter(driver: &Driver) -> Result {
    type Retain = unsafe extern "C" fn(*mut *mut c_void, c_int) -> CUresult;
    let mut context = ptr::null_mut();
    let handle = handle(driver)?;
    // SAFETY: the types are those of cuda.h, and `retain` writes one handle.
    unsafe {
        let retain = driver.function::<Retain>("cuDevicePrimaryCtxRetain")?;
        driver.check("cuDevicePrimaryCtxRetain", retain(&mut context, handle))?;
        let set = driver.function::<Set>("cuCtxSetCurrent")?;
        driver.check("cuCtxSetCurrent", set(context))
    }
}

/// Returns the driver's handle for its device.
pub fn handle(driver: &Driver) -> Result<c_int> {
    type Init = unsafe extern "C" fn(c_uint) -> CUresult;
    type Get = unsafe extern "C" fn(*mut c_int, c_int) -> CUresult;
    let mut handle = 0;
    // SAFETY: the types are those of cuda.h, and `get` writes one handle.
    unsafe {
        driver.check("cuInit", driver.function::<Init>("cuInit")?(0))?;
        let get = driver.function::<Get>("cuDeviceGet")?;
        driver.check("cuDeviceGet", get(&mut handle, driver.device().ordinal()))?;
    }
    Ok(handle)
}

/// Releases the context. If offload-gpu uses the GPU, its device keeps the context alive. Otherwise
/// the context is destroyed, so it must not stay current on this thread.
pub(super) fn leave(driver: &Driver) {
    // SAFETY: the type is that of cuda.h.
    if let Ok(set) = unsafe { driver.function::<Set>("cuCtxSetCurrent") } {
        // SAFETY: null is valid, and leaves no context current.
        unsafe { set(ptr::null_mut()) };
    }
    type Release = unsafe extern "C" fn(c_int) -> CUresult;
    // SAFETY: the type matches cuda.h.
    let release = unsafe { driver.function::<Release>("cuDevicePrimaryCtxRelease_v2") };
    if let (Ok(release), Ok(handle)) = (release, handle(driver)) {
        // SAFETY: `enter` has retained the context once.
        unsafe { release(handle) };
    }
}

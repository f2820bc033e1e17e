//! NVIDIA's driver.

use super::{Driver, Result, library};
use offload_gpu::run::Device;
use std::ffi::{c_int, c_uint, c_void};
use std::ptr;

type CUresult = c_int;

/// Loads the driver, and makes the primary context of a GPU current.
pub(super) fn open(device: &Device) -> Result<Driver> {
    let names = if cfg!(windows) { ["nvcuda.dll"] } else { ["libcuda.so.1"] };
    let names_of_functions = [
        "cuModuleLoadData",
        "cuModuleUnload",
        "cuModuleGetFunction",
        "cuLaunchKernel",
        "cuCtxSynchronize",
    ];
    let driver = Driver::new(library(&names)?, device, names_of_functions)?;
    type Retain = unsafe extern "C" fn(*mut *mut c_void, c_int) -> CUresult;
    type Set = unsafe extern "C" fn(*mut c_void) -> CUresult;
    let mut context = ptr::null_mut();
    let handle = handle(&driver)?;
    // SAFETY: the types are those of cuda.h; each function writes one handle.
    unsafe {
        let retain = driver.function::<Retain>("cuDevicePrimaryCtxRetain")?;
        driver.check("cuDevicePrimaryCtxRetain", retain(&mut context, handle))?;
        let set = driver.function::<Set>("cuCtxSetCurrent")?;
        driver.check("cuCtxSetCurrent", set(context))?;
    }
    Ok(driver)
}

/// Returns the driver's handle of its device.
pub fn handle(driver: &Driver) -> Result<c_int> {
    type Init = unsafe extern "C" fn(c_uint) -> CUresult;
    type Get = unsafe extern "C" fn(*mut c_int, c_int) -> CUresult;
    let mut handle = 0;
    // SAFETY: the types are those of cuda.h; the second function writes one handle.
    unsafe {
        driver.check("cuInit", driver.function::<Init>("cuInit")?(0))?;
        let get = driver.function::<Get>("cuDeviceGet")?;
        driver.check("cuDeviceGet", get(&mut handle, driver.device().ordinal()))?;
    }
    Ok(handle)
}

/// Gives back the context. The run time's own device keeps it, if it is in use.
pub(super) fn close(driver: &Driver) {
    type Release = unsafe extern "C" fn(c_int) -> CUresult;
    // SAFETY: the type is that of cuda.h, and `open` has retained the context once.
    let release = unsafe { driver.function::<Release>("cuDevicePrimaryCtxRelease_v2") };
    if let (Ok(release), Ok(handle)) = (release, handle(driver)) {
        // SAFETY: as above.
        unsafe { release(handle) };
    }
}

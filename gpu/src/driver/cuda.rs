//! NVIDIA's driver.

use super::{Driver, Result, library};
use offload_gpu::run::DeviceKind;
use std::ffi::{c_int, c_uint, c_void};
use std::ptr;

type CUresult = c_int;

/// Loads the driver, and makes the primary context of a GPU current.
pub(super) fn open(ordinal: i32) -> Result<Driver> {
    let names = if cfg!(windows) { ["nvcuda.dll"] } else { ["libcuda.so.1"] };
    let names_of_functions = [
        "cuModuleLoadData",
        "cuModuleUnload",
        "cuModuleGetFunction",
        "cuLaunchKernel",
        "cuCtxSynchronize",
    ];
    let driver = Driver::new(library(&names)?, DeviceKind::Cuda, names_of_functions)?;
    type Init = unsafe extern "C" fn(c_uint) -> CUresult;
    type Get = unsafe extern "C" fn(*mut c_int, c_int) -> CUresult;
    type Retain = unsafe extern "C" fn(*mut *mut c_void, c_int) -> CUresult;
    type Set = unsafe extern "C" fn(*mut c_void) -> CUresult;
    let (mut device, mut context) = (0, ptr::null_mut());
    // SAFETY: the types are those of cuda.h; each function writes one handle.
    unsafe {
        driver.check("cuInit", driver.function::<Init>("cuInit")?(0))?;
        let get = driver.function::<Get>("cuDeviceGet")?;
        driver.check("cuDeviceGet", get(&mut device, ordinal))?;
        // The context is kept until the process ends, as the run time's device is.
        let retain = driver.function::<Retain>("cuDevicePrimaryCtxRetain")?;
        driver.check("cuDevicePrimaryCtxRetain", retain(&mut context, device))?;
        let set = driver.function::<Set>("cuCtxSetCurrent")?;
        driver.check("cuCtxSetCurrent", set(context))?;
    }
    Ok(driver)
}

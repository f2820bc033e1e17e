//! AMD's HIP runtime.

use super::{Driver, Result, library};
use offload_gpu::run::Device;
use std::ffi::{c_int, c_uint};

/// Loads the runtime, and makes a GPU current.
pub(super) fn open(device: &Device) -> Result<Driver> {
    let names = ["libamdhip64.so", "libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5"];
    let names_of_functions = [
        "hipModuleLoadData",
        "hipModuleUnload",
        "hipModuleGetFunction",
        "hipModuleLaunchKernel",
        "hipDeviceSynchronize",
    ];
    let driver = Driver::new(library(&names)?, device, names_of_functions)?;
    type Init = unsafe extern "C" fn(c_uint) -> c_int;
    type Set = unsafe extern "C" fn(c_int) -> c_int;
    // SAFETY: the types are those of hip_runtime_api.h.
    unsafe {
        driver.check("hipInit", driver.function::<Init>("hipInit")?(0))?;
        driver.check("hipSetDevice", driver.function::<Set>("hipSetDevice")?(device.ordinal()))?;
    }
    Ok(driver)
}

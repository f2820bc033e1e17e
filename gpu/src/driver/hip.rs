//! AMD's HIP runtime.

use super::{Driver, Result, library};
use offload_gpu::run::Device;
use std::ffi::{c_int, c_uint};

/// Loads the runtime.
pub(super) fn load(device: &Device) -> Result<Driver> {
    let names = ["libamdhip64.so", "libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5"];
    let names_of_functions = [
        "hipModuleLoadData",
        "hipModuleUnload",
        "hipModuleGetFunction",
        "hipModuleLaunchKernel",
        "hipDeviceSynchronize",
    ];
    Driver::new(library(&names)?, device, names_of_functions)
}

/// Makes the runtime's GPU current.
pub(super) fn enter(driver: &Driver) -> Result {
    type Init = unsafe extern "C" fn(c_uint) -> c_int;
    type Set = unsafe extern "C" fn(c_int) -> c_int;
    // SAFETY: the types are those of hip_runtime_api.h.
    unsafe {
        driver.check("hipInit", driver.function::<Init>("hipInit")?(0))?;
        let set = driver.function::<Set>("hipSetDevice")?;
        driver.check("hipSetDevice", set(driver.device().ordinal()))
    }
}

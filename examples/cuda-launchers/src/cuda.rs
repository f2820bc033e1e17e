//! Bindings to the few CUDA runtime functions that a program with launchers needs, and an error
//! type with the runtime's messages. Copy this file into your own program.
//!
//! `compile_static` links the runtime statically. The runtime looks for the driver when the program
//! first calls a runtime function.

use std::ffi::{CStr, c_char, c_int};
use std::fmt;

/// `cudaErrorInsufficientDriver`: the driver is missing, or older than the runtime.
const INSUFFICIENT_DRIVER: c_int = 35;

unsafe extern "C" {
    fn cudaGetDeviceCount(count: *mut c_int) -> c_int;
    fn cudaDriverGetVersion(version: *mut c_int) -> c_int;
    safe fn cudaGetErrorName(error: c_int) -> *const c_char;
    safe fn cudaGetErrorString(error: c_int) -> *const c_char;
}

/// Returns the number of GPUs, which is at least one.
///
/// Returns an error if there is no GPU, or no driver that works with this runtime.
pub fn gpus() -> Result<usize, NoGpu> {
    let mut count = 0;
    // SAFETY: the function writes only to `count`.
    let code = unsafe { cudaGetDeviceCount(&mut count) };
    check("cudaGetDeviceCount", code).map_err(|error| NoGpu { driver: driver_version(), error })?;
    Ok(usize::try_from(count).unwrap_or(0))
}

/// Returns the newest CUDA version that the driver supports, for example 12080 for 12.8, or 0 if
/// there is no driver.
fn driver_version() -> c_int {
    let mut version = 0;
    // SAFETY: the function writes only to `version`.
    match unsafe { cudaDriverGetVersion(&mut version) } {
        0 => version,
        _ => 0,
    }
}

/// Returns an error if `code`, which `function` returned, is an error code.
pub fn check(function: &'static str, code: c_int) -> Result<(), CudaError> {
    if code == 0 { Ok(()) } else { Err(CudaError { function, code }) }
}

/// An error of CUDA's runtime.
#[derive(Debug)]
pub struct CudaError {
    function: &'static str,
    code: c_int,
}

impl fmt::Display for CudaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // SAFETY: both functions return static, NUL-terminated strings, even for unknown codes.
        let [name, text] = [cudaGetErrorName, cudaGetErrorString]
            .map(|of| unsafe { CStr::from_ptr(of(self.code)) }.to_string_lossy());
        write!(f, "{} returned {name} ({}), \"{text}\"", self.function, self.code)
    }
}

impl std::error::Error for CudaError {}

/// The reason why there is no GPU.
#[derive(Debug)]
pub struct NoGpu {
    driver: c_int,
    error: CudaError,
}

impl fmt::Display for NoGpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.error.code, self.driver) {
            (_, 0) => f.write_str("no CUDA driver")?,
            (INSUFFICIENT_DRIVER, version) => {
                write!(
                    f,
                    "the driver, for CUDA {}.{}, is too old",
                    version / 1000,
                    version % 1000 / 10
                )?;
            }
            _ => f.write_str("no NVIDIA GPU")?,
        }
        write!(f, ": {}", self.error)
    }
}

impl std::error::Error for NoGpu {}

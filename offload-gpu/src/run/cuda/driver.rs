//! The functions and errors of NVIDIA's driver.
//!
//! Names, types and numbers are as in `cuda.h` (CUDA 12). If a function's name ends in `_v2`, the
//! header defines the plain name as a macro for it, while the driver exports an older function
//! under the plain name.

use crate::run::error::{DriverErrors, in_words};
use crate::run::library::{self, functions};
use alloc::format;
use alloc::string::String;
use core::ffi::{CStr, c_char, c_int, c_uint, c_ulonglong, c_void};
use core::ptr;
use std::sync::OnceLock;

/// The names of the driver's library, which comes with NVIDIA's kernel module, not with the CUDA
/// toolkit.
const LIBRARIES: &[&str] = if cfg!(windows) { &["nvcuda.dll"] } else { &["libcuda.so.1"] };

/// The driver's error code, an enumeration in `cuda.h`.
pub(super) type CUresult = c_int;
/// A device handle, which `cuDeviceGet` returns for an index.
pub(super) type CUdevice = c_int;
pub(super) type CUdeviceptr = c_ulonglong;
// Pointers to opaque structures.
pub(super) type CUcontext = *mut c_void;
pub(super) type CUmodule = *mut c_void;
pub(super) type CUfunction = *mut c_void;
pub(super) type CUstream = *mut c_void;
pub(super) type CUlibrary = *mut c_void;
pub(super) type CUkernel = *mut c_void;

pub(super) const CUDA_SUCCESS: CUresult = 0;
const CUDA_ERROR_NO_DEVICE: CUresult = 100;
pub(super) const CUDA_ERROR_INVALID_CONTEXT: CUresult = 201;
pub(super) const CUDA_ERROR_CONTEXT_IS_DESTROYED: CUresult = 709;

// CUdevice_attribute.
pub(super) const MAX_THREADS_PER_BLOCK: c_int = 1;
/// The attribute for a block's maximum size in x; the next two numbers are for y and z.
pub(super) const MAX_BLOCK_DIM_X: c_int = 2;
/// The attribute for a grid's maximum size in x; the next two numbers are for y and z.
pub(super) const MAX_GRID_DIM_X: c_int = 5;
pub(super) const MAX_SHARED_MEMORY_PER_BLOCK: c_int = 8;
pub(super) const COMPUTE_CAPABILITY_MAJOR: c_int = 75;
pub(super) const COMPUTE_CAPABILITY_MINOR: c_int = 76;
pub(super) const MAX_SHARED_MEMORY_PER_BLOCK_OPTIN: c_int = 97;

// CUfunction_attribute.
pub(super) const SHARED_SIZE_BYTES: c_int = 1;
pub(super) const MAX_DYNAMIC_SHARED_SIZE_BYTES: c_int = 8;

functions! {
    /// The driver's functions that this crate calls.
    struct Driver {
        fn cuInit(c_uint) -> CUresult;
        fn cuGetErrorName(CUresult, *mut *const c_char) -> CUresult;
        fn cuGetErrorString(CUresult, *mut *const c_char) -> CUresult;
        fn cuDriverGetVersion(*mut c_int) -> CUresult;
        fn cuDeviceGetCount(*mut c_int) -> CUresult;
        fn cuDeviceGet(*mut CUdevice, c_int) -> CUresult;
        fn cuDeviceGetName(*mut c_char, c_int, CUdevice) -> CUresult;
        fn cuDeviceGetAttribute(*mut c_int, c_int, CUdevice) -> CUresult;
        fn cuDeviceTotalMem_v2(*mut usize, CUdevice) -> CUresult;
        // The results: flags, and whether the primary context exists.
        fn cuDevicePrimaryCtxGetState(CUdevice, *mut c_uint, *mut c_int) -> CUresult;
        fn cuDevicePrimaryCtxRetain(*mut CUcontext, CUdevice) -> CUresult;
        fn cuDevicePrimaryCtxRelease_v2(CUdevice) -> CUresult;
        fn cuCtxGetCurrent(*mut CUcontext) -> CUresult;
        fn cuCtxPushCurrent_v2(CUcontext) -> CUresult;
        fn cuCtxPopCurrent_v2(*mut CUcontext) -> CUresult;
        fn cuCtxGetDevice(*mut CUdevice) -> CUresult;
        fn cuCtxSynchronize() -> CUresult;
        fn cuModuleLoadData(*mut CUmodule, *const c_void) -> CUresult;
        fn cuModuleUnload(CUmodule) -> CUresult;
        fn cuModuleGetFunction(*mut CUfunction, CUmodule, *const c_char) -> CUresult;
        // The results: the address, and the size in bytes.
        fn cuModuleGetGlobal_v2(*mut CUdeviceptr, *mut usize, CUmodule, *const c_char) -> CUresult;
        fn cuFuncGetAttribute(*mut c_int, c_int, CUfunction) -> CUresult;
        fn cuFuncSetAttribute(CUfunction, c_int, c_int) -> CUresult;
        fn cuMemAlloc_v2(*mut CUdeviceptr, usize) -> CUresult;
        fn cuMemFree_v2(CUdeviceptr) -> CUresult;
        fn cuMemcpyHtoD_v2(CUdeviceptr, *const c_void, usize) -> CUresult;
        fn cuMemcpyDtoH_v2(*mut c_void, CUdeviceptr, usize) -> CUresult;
        fn cuStreamSynchronize(CUstream) -> CUresult;
        // The arguments after the function: the blocks in x, y and z, the threads in x, y and z,
        // the bytes of dynamic shared memory, the stream, the kernel's arguments, and `extra`.
        fn cuLaunchKernel(
            CUfunction, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, CUstream,
            *mut *mut c_void, *mut *mut c_void,
        ) -> CUresult;
        optional
        // Since CUDA 12.0.
        fn cuCtxGetId(CUcontext, *mut c_ulonglong) -> CUresult;
    }
}

functions! {
    /// Driver functions for libraries, available since CUDA 12. A library is a module that is not
    /// bound to a context.
    struct Libraries {
        // The arguments: the code, the options and values for the PTX compiler and their number,
        // and the options and values for the library and their number.
        fn cuLibraryLoadData(
            *mut CUlibrary, *const c_void, *mut c_int, *mut *mut c_void, c_uint, *mut c_int, *mut *mut c_void, c_uint,
        ) -> CUresult;
        fn cuLibraryUnload(CUlibrary) -> CUresult;
        fn cuLibraryGetKernel(*mut CUkernel, CUlibrary, *const c_char) -> CUresult;
        fn cuLibraryGetModule(*mut CUmodule, CUlibrary) -> CUresult;
        fn cuKernelGetFunction(*mut CUfunction, CUkernel) -> CUresult;
        optional
    }
}

type ErrorText = unsafe extern "C" fn(CUresult, *mut *const c_char) -> CUresult;

/// The result of the first call to `get`.
static DRIVER: OnceLock<core::result::Result<(Driver, Option<Libraries>), String>> =
    OnceLock::new();

impl Driver {
    /// Returns the initialized driver. The first call loads it.
    ///
    /// Returns an error message if there is no driver, or if the driver finds no GPU.
    pub(super) fn get() -> core::result::Result<&'static Self, String> {
        DRIVER.get_or_init(Self::load).as_ref().map(|(driver, _)| driver).map_err(String::clone)
    }

    fn load() -> core::result::Result<(Self, Option<Libraries>), String> {
        // SAFETY: these names belong to NVIDIA's driver, and the types are those of its header.
        let opened = unsafe {
            library::open(LIBRARIES, |name, find| {
                Ok((Self::of(name, find)?, Libraries::of(name, find).ok()))
            })
        };
        let (driver, libraries) = opened.map_err(|why| format!("no CUDA driver: {why}"))?;
        // SAFETY: the flags must be 0.
        match unsafe { (driver.cuInit)(0) } {
            CUDA_SUCCESS => Ok((driver, libraries)),
            CUDA_ERROR_NO_DEVICE => Err(driver.no_gpu()),
            code => {
                let error = in_words(code, &driver.text_of(code));
                Err(format!("the CUDA driver does not start: cuInit returned {error}"))
            }
        }
    }

    /// Returns the functions for libraries, if the driver has all of them.
    pub(super) fn libraries() -> Option<&'static Libraries> {
        DRIVER.get()?.as_ref().ok()?.1.as_ref()
    }

    pub(super) fn no_gpu(&self) -> String {
        format!("the CUDA driver, {}, finds no GPU", self.name)
    }
}

impl DriverErrors for Driver {
    /// Returns the error's name and description; empty if the code is unknown to the driver.
    fn text_of(&self, code: CUresult) -> String {
        let text = |of: ErrorText| {
            let mut text = ptr::null();
            // SAFETY: both functions write the address of a constant string, or null for an unknown
            // code.
            unsafe {
                of(code, &mut text);
                (!text.is_null()).then(|| CStr::from_ptr(text).to_string_lossy().into_owned())
            }
        };
        match (text(self.cuGetErrorName), text(self.cuGetErrorString)) {
            (Some(name), Some(description)) => format!("{name}: {description}"),
            _ => String::new(),
        }
    }
}

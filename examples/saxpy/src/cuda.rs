//! NVIDIA GPUs, through the CUDA driver.
//!
//! Names, types and numbers are those of `cuda.h` (CUDA 12). Where a name ends in `_v2`, the header defines the plain
//! name as a macro for it; what the driver exports under the plain name is an older function.

use std::error::Error;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::ptr;

use offload::{ComputeCapability, DeviceBuffer, DeviceInfo, PackImage};

use crate::kernels;
use crate::runtime::{FoundDevice, Result, Runtime, library};
use crate::saxpy::{BLOCK, Problem};

/// The driver comes with the kernel module, not with the CUDA toolkit: no toolkit is needed to run.
const LIBRARIES: &[&str] = if cfg!(windows) { &["nvcuda.dll"] } else { &["libcuda.so.1"] };

// An enumeration in `cuda.h`.
type CUresult = c_int;
const CUDA_SUCCESS: CUresult = 0;
const CUDA_ERROR_NO_DEVICE: CUresult = 100;
// What cuDeviceGet makes of an index.
type CUdevice = c_int;
// `unsigned long long` on 64-bit systems.
type CUdeviceptr = u64;
// Pointers to structures that only the driver knows.
type CUcontext = *mut c_void;
type CUmodule = *mut c_void;
type CUfunction = *mut c_void;
type CUstream = *mut c_void;

type ErrorText = unsafe extern "C" fn(CUresult, *mut *const c_char) -> CUresult;

// CUdevice_attribute.
const CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: c_int = 75;
const CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR: c_int = 76;

library! {
    /// The CUDA driver.
    struct Driver {
        fn cuInit(c_uint) -> CUresult;
        fn cuGetErrorName(CUresult, *mut *const c_char) -> CUresult;
        fn cuGetErrorString(CUresult, *mut *const c_char) -> CUresult;
        fn cuDriverGetVersion(*mut c_int) -> CUresult;
        fn cuDeviceGetCount(*mut c_int) -> CUresult;
        fn cuDeviceGet(*mut CUdevice, c_int) -> CUresult;
        fn cuDeviceGetName(*mut c_char, c_int, CUdevice) -> CUresult;
        fn cuDeviceGetAttribute(*mut c_int, c_int, CUdevice) -> CUresult;
        fn cuDevicePrimaryCtxRetain(*mut CUcontext, CUdevice) -> CUresult;
        fn cuDevicePrimaryCtxRelease_v2(CUdevice) -> CUresult;
        fn cuCtxSetCurrent(CUcontext) -> CUresult;
        fn cuCtxSynchronize() -> CUresult;
        fn cuModuleLoadData(*mut CUmodule, *const c_void) -> CUresult;
        fn cuModuleUnload(CUmodule) -> CUresult;
        fn cuModuleGetFunction(*mut CUfunction, CUmodule, *const c_char) -> CUresult;
        fn cuMemAlloc_v2(*mut CUdeviceptr, usize) -> CUresult;
        fn cuMemFree_v2(CUdeviceptr) -> CUresult;
        fn cuMemcpyHtoD_v2(CUdeviceptr, *const c_void, usize) -> CUresult;
        fn cuMemcpyDtoH_v2(*mut c_void, CUdeviceptr, usize) -> CUresult;
        // Blocks in x, y, z; threads in x, y, z; bytes of dynamic shared memory; stream; arguments; extra.
        fn cuLaunchKernel(
            CUfunction, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, CUstream,
            *mut *mut c_void, *mut *mut c_void
        ) -> CUresult;
    }
}

/// The NVIDIA GPUs of this machine.
///
/// Returns an error, one line, if there is no driver or it has no GPU to offer.
pub fn devices() -> Result<Vec<FoundDevice>> {
    let driver = Driver::load()?;
    let (mut version, mut count) = (0, 0);
    // SAFETY: each writes one int to the address that it is given.
    unsafe {
        driver.check(
            "cuDriverGetVersion",
            (driver.cuDriverGetVersion)(&mut version),
            "ask for the driver's version",
        )?;
        driver.check("cuDeviceGetCount", (driver.cuDeviceGetCount)(&mut count), "count the GPUs")?;
    }
    if count == 0 {
        return Err(driver.no_gpu());
    }
    (0..count).map(|index| driver.device(index, version.unsigned_abs())).collect()
}

/// Runs the kernel in `image` on the GPU with this index.
pub fn run(index: i32, image: &PackImage, problem: &mut Problem) -> Result<()> {
    let driver = Driver::load()?;
    let context = Context::new(&driver, index)?;
    let module = Module::load(&context, image)?;
    let saxpy = module.function(c"saxpy")?;
    let x = Buffer::with_contents(&context, &problem.x)?;
    let mut y = Buffer::with_contents(&context, &problem.y)?;

    let call = kernels::saxpy(problem.n(), problem.a, &x, &mut y);
    let mut arguments = call.pointers();
    // SAFETY: the driver copies the arguments before it returns. The kernel touches the first `n` elements of `x` and `y`,
    // which is how many they have, and both live until it is done.
    unsafe {
        driver.check(
            "cuLaunchKernel",
            (driver.cuLaunchKernel)(
                saxpy,
                problem.blocks(),
                1,
                1,
                BLOCK,
                1,
                1,
                0,
                ptr::null_mut(),
                arguments.as_mut_ptr(),
                ptr::null_mut(),
            ),
            "start the kernel",
        )?;
        driver.check("cuCtxSynchronize", (driver.cuCtxSynchronize)(), "run the kernel to its end")?;
    }
    y.read(&mut problem.y)
}

impl Driver {
    fn load() -> Result<Self> {
        // SAFETY: these names belong to NVIDIA's driver, and the types are those of its header.
        let driver = unsafe { Self::open("CUDA driver", LIBRARIES)? };
        // SAFETY: the flags must be 0. A second call does nothing.
        let result = unsafe { (driver.cuInit)(0) };
        if result == CUDA_ERROR_NO_DEVICE {
            return Err(driver.no_gpu());
        }
        driver.check("cuInit", result, "start the CUDA driver")?;
        Ok(driver)
    }

    fn no_gpu(&self) -> Box<dyn Error> {
        let name = self.library.name;
        format!("no NVIDIA GPU (the CUDA driver, {name}, finds none)").into()
    }

    fn device(&self, index: c_int, driver_version: u32) -> Result<FoundDevice> {
        let device = self.handle(index)?;
        let mut name: [c_char; 256] = [0; 256];
        let (mut major, mut minor) = (0, 0);
        // SAFETY: the name's buffer has 256 bytes, as stated; the other two calls write one int each.
        unsafe {
            self.check(
                "cuDeviceGetName",
                (self.cuDeviceGetName)(name.as_mut_ptr(), 256, device),
                "ask for a GPU's name",
            )?;
            for (value, attribute) in [
                (&mut major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR),
                (&mut minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR),
            ] {
                let result = (self.cuDeviceGetAttribute)(value, attribute, device);
                self.check("cuDeviceGetAttribute", result, "ask for a GPU's compute capability")?;
            }
        }
        // SAFETY: the driver ends the name with a NUL inside the buffer.
        let product = unsafe { CStr::from_ptr(name.as_ptr()) };
        let capability = ComputeCapability { major: major.unsigned_abs(), minor: minor.unsigned_abs() };
        Ok(FoundDevice {
            runtime: Runtime::Cuda,
            index,
            product: product.to_string_lossy().into_owned(),
            device: DeviceInfo::cuda(capability, driver_version),
        })
    }

    fn handle(&self, index: c_int) -> Result<CUdevice> {
        let mut device = 0;
        // SAFETY: it writes one CUdevice; an index that is out of range is an error.
        let result = unsafe { (self.cuDeviceGet)(&mut device, index) };
        self.check("cuDeviceGet", result, "open a GPU")?;
        Ok(device)
    }

    /// Makes an error of a result that is not `CUDA_SUCCESS`. `what` says what was attempted.
    fn check(&self, function: &str, result: CUresult, what: &str) -> Result<()> {
        if result == CUDA_SUCCESS {
            return Ok(());
        }
        let name = Self::text(self.cuGetErrorName, result);
        let description = Self::text(self.cuGetErrorString, result);
        let error = match (name, description) {
            (Some(name), Some(description)) => format!("{name} ({result}): {description}"),
            _ => format!("the error {result}, which the driver has no name for"),
        };
        Err(format!("could not {what}: {function} returned {error}").into())
    }

    /// What `of`, one of the two functions that name an error, has to say about `result`.
    fn text(of: ErrorText, result: CUresult) -> Option<String> {
        let mut text = ptr::null();
        // SAFETY: both functions write the address of a constant string, or null for an unknown result.
        unsafe {
            of(result, &mut text);
            (!text.is_null()).then(|| CStr::from_ptr(text).to_string_lossy().into_owned())
        }
    }
}

/// The GPU's primary context, which the CUDA runtime library shares, made current on this thread.
struct Context<'a> {
    driver: &'a Driver,
    device: CUdevice,
}

impl<'a> Context<'a> {
    fn new(driver: &'a Driver, index: c_int) -> Result<Self> {
        let device = driver.handle(index)?;
        let mut context = ptr::null_mut();
        // SAFETY: it writes one CUcontext.
        let result = unsafe { (driver.cuDevicePrimaryCtxRetain)(&mut context, device) };
        driver.check("cuDevicePrimaryCtxRetain", result, "make a context on the GPU")?;
        let this = Self { driver, device };
        // SAFETY: the context was just retained; it is released when `this` is dropped.
        let result = unsafe { (driver.cuCtxSetCurrent)(context) };
        driver.check("cuCtxSetCurrent", result, "make the GPU's context current")?;
        Ok(this)
    }
}

impl Drop for Context<'_> {
    fn drop(&mut self) {
        // SAFETY: retained once in `new`; what was made in it borrows it, so it is gone. Nothing is left to do about an
        // error here, nor in the two other `drop`s.
        unsafe { (self.driver.cuDevicePrimaryCtxRelease_v2)(self.device) };
    }
}

/// An image, loaded.
struct Module<'a> {
    driver: &'a Driver,
    module: CUmodule,
}

impl<'a> Module<'a> {
    fn load(context: &'a Context<'_>, image: &PackImage) -> Result<Self> {
        let driver = context.driver;
        let mut module = ptr::null_mut();
        // SAFETY: the pointer leads to a whole cubin, or to PTX that ends with a NUL.
        let result = unsafe { (driver.cuModuleLoadData)(&mut module, image.as_ptr()) };
        let what = format!("load the {} {} ({} bytes)", image.target(), image.kind(), image.bytes().len());
        driver
            .check("cuModuleLoadData", result, &what)
            .map_err(|error| format!("{error}\nUpdate the driver, or add this GPU's own target in build.rs."))?;
        Ok(Self { driver, module })
    }

    fn function(&self, name: &CStr) -> Result<CUfunction> {
        let mut function = ptr::null_mut();
        // SAFETY: the module is loaded, and the name ends with a NUL.
        let result = unsafe { (self.driver.cuModuleGetFunction)(&mut function, self.module, name.as_ptr()) };
        let what = format!("find the kernel {} in the image", name.to_string_lossy());
        self.driver.check("cuModuleGetFunction", result, &what)?;
        Ok(function)
    }
}

impl Drop for Module<'_> {
    fn drop(&mut self) {
        // SAFETY: loaded in `load`, and unloaded only here.
        unsafe { (self.driver.cuModuleUnload)(self.module) };
    }
}

/// Memory on the GPU.
struct Buffer<'a> {
    driver: &'a Driver,
    address: CUdeviceptr,
    len: usize,
}

impl<'a> Buffer<'a> {
    fn with_contents(context: &'a Context<'_>, contents: &[f32]) -> Result<Self> {
        let driver = context.driver;
        let size = size_of_val(contents);
        let mut address = 0;
        // SAFETY: it writes one CUdeviceptr.
        let result = unsafe { (driver.cuMemAlloc_v2)(&mut address, size) };
        driver.check("cuMemAlloc_v2", result, &format!("allocate {size} bytes on the GPU"))?;
        let buffer = Self { driver, address, len: contents.len() };
        // SAFETY: both sides have `size` bytes.
        let result = unsafe { (driver.cuMemcpyHtoD_v2)(address, contents.as_ptr().cast(), size) };
        driver.check("cuMemcpyHtoD_v2", result, &format!("copy {size} bytes to the GPU"))?;
        Ok(buffer)
    }

    fn read(&self, into: &mut [f32]) -> Result<()> {
        assert_eq!(into.len(), self.len);
        let size = size_of_val(into);
        // SAFETY: both sides have `size` bytes, and each pattern of bits is an `f32`.
        let result = unsafe { (self.driver.cuMemcpyDtoH_v2)(into.as_mut_ptr().cast(), self.address, size) };
        self.driver.check("cuMemcpyDtoH_v2", result, &format!("copy {size} bytes from the GPU"))
    }
}

/// It may be passed for a pointer of a kernel.
impl DeviceBuffer for Buffer<'_> {
    type Item = f32;

    fn device_address(&self) -> *const f32 {
        self.address as *const f32
    }
}

impl Drop for Buffer<'_> {
    fn drop(&mut self) {
        // SAFETY: allocated in `with_contents`, and freed only here.
        unsafe { (self.driver.cuMemFree_v2)(self.address) };
    }
}

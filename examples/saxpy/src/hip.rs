//! AMD GPUs, through the HIP runtime.
//!
//! Names, types and numbers are those of `hip/hip_runtime_api.h` (HIP 5.2 to 7); what changed between them is said
//! where it matters.

// The header's names stay as they are.
#![allow(non_camel_case_types)]

use std::error::Error;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::ptr;

use offload::{DeviceBuffer, DeviceInfo, PackImage};

use crate::kernels;
use crate::runtime::{FoundDevice, Result, Runtime, library};
use crate::saxpy::{BLOCK, Problem};

/// The development files bring the first name on Linux, the runtime alone one of the others.
const LIBRARIES: &[&str] = if cfg!(windows) {
    &["amdhip64_7.dll", "amdhip64_6.dll", "amdhip64.dll"]
} else {
    &["libamdhip64.so", "libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5"]
};

// An enumeration in the header.
type hipError_t = c_int;
const HIP_SUCCESS: hipError_t = 0;
// hipErrorNoDevice and hipErrorInvalidDevice: HIP 5.2 returns either where there is no GPU.
const NO_GPU: [hipError_t; 2] = [100, 101];
// Pointers to structures that only the runtime knows.
type hipModule_t = *mut c_void;
type hipFunction_t = *mut c_void;
type hipStream_t = *mut c_void;

// hipMemcpyKind.
const HIP_MEMCPY_HOST_TO_DEVICE: c_int = 1;
const HIP_MEMCPY_DEVICE_TO_HOST: c_int = 2;

library! {
    /// The HIP runtime.
    struct Hip {
        fn hipInit(c_uint) -> hipError_t;
        fn hipGetErrorName(hipError_t) -> *const c_char;
        fn hipGetErrorString(hipError_t) -> *const c_char;
        fn hipGetDeviceCount(*mut c_int) -> hipError_t;
        fn hipSetDevice(c_int) -> hipError_t;
        fn hipDeviceSynchronize() -> hipError_t;
        fn hipModuleLoadData(*mut hipModule_t, *const c_void) -> hipError_t;
        fn hipModuleUnload(hipModule_t) -> hipError_t;
        fn hipModuleGetFunction(*mut hipFunction_t, hipModule_t, *const c_char) -> hipError_t;
        fn hipMalloc(*mut *mut c_void, usize) -> hipError_t;
        fn hipFree(*mut c_void) -> hipError_t;
        fn hipMemcpy(*mut c_void, *const c_void, usize, c_int) -> hipError_t;
        // Blocks in x, y, z; threads in x, y, z; bytes of dynamic shared memory; stream; arguments; extra.
        fn hipModuleLaunchKernel(
            hipFunction_t, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, hipStream_t,
            *mut *mut c_void, *mut *mut c_void
        ) -> hipError_t;
    }
}

/// Room for a `hipDeviceProp_t` of any version; two of its fields are read.
#[repr(C, align(16))]
struct Properties([u8; 4096]);

/// A function that fills in a `hipDeviceProp_t`, and where that structure has the name of the target.
struct PropertiesFunction {
    name: &'static str,
    gcn_arch_name: usize,
}

/// HIP 6 changed the structure. Programs that are compiled with its headers call the function by a new name; the old
/// name still fills in the old structure.
///
/// Both structures begin with `char name[256]`, and both have a `char gcnArchName[256]`.
const PROPERTIES: [PropertiesFunction; 2] = [
    // The structure has 1472 bytes in the headers of HIP 6.2 to 7.2.
    PropertiesFunction { name: "hipGetDevicePropertiesR0600", gcn_arch_name: 1160 },
    // It has 792 bytes in the headers of HIP 5.2.
    PropertiesFunction { name: "hipGetDeviceProperties", gcn_arch_name: 396 },
];

/// The AMD GPUs of this machine.
///
/// Returns an error, one line, if there is no runtime or it has no GPU to offer.
pub fn devices() -> Result<Vec<FoundDevice>> {
    let hip = Hip::load()?;
    let mut count = 0;
    // SAFETY: it writes one int.
    let result = unsafe { (hip.hipGetDeviceCount)(&mut count) };
    if !NO_GPU.contains(&result) {
        hip.check("hipGetDeviceCount", result, "count the GPUs")?;
    }
    if count == 0 {
        return Err(hip.no_gpu());
    }
    (0..count).map(|index| hip.device(index)).collect()
}

/// Runs the kernel in `image` on the GPU with this index.
pub fn run(index: i32, image: &PackImage, problem: &mut Problem) -> Result<()> {
    let hip = Hip::load()?;
    // SAFETY: an index that is out of range is an error.
    let result = unsafe { (hip.hipSetDevice)(index) };
    hip.check("hipSetDevice", result, "make the GPU current")?;
    let module = Module::load(&hip, image)?;
    let saxpy = module.function(c"saxpy")?;
    let x = Buffer::with_contents(&hip, &problem.x)?;
    let mut y = Buffer::with_contents(&hip, &problem.y)?;

    let call = kernels::saxpy(problem.n(), problem.a, &x, &mut y);
    let mut arguments = call.pointers();
    // SAFETY: the runtime copies the arguments before it returns. The kernel touches the first `n` elements of `x` and `y`,
    // which is how many they have, and both live until it is done.
    unsafe {
        hip.check(
            "hipModuleLaunchKernel",
            (hip.hipModuleLaunchKernel)(
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
        hip.check("hipDeviceSynchronize", (hip.hipDeviceSynchronize)(), "run the kernel to its end")?;
    }
    y.read(&mut problem.y)
}

impl Hip {
    fn load() -> Result<Self> {
        // SAFETY: these names belong to AMD's runtime, and the types are those of its header.
        let hip = unsafe { Self::open("HIP runtime", LIBRARIES)? };
        // SAFETY: the flags must be 0. A second call does nothing.
        let result = unsafe { (hip.hipInit)(0) };
        if NO_GPU.contains(&result) {
            return Err(hip.no_gpu());
        }
        hip.check("hipInit", result, "start the HIP runtime")?;
        Ok(hip)
    }

    fn no_gpu(&self) -> Box<dyn Error> {
        let name = self.library.name;
        format!("no AMD GPU (the HIP runtime, {name}, finds none)").into()
    }

    fn device(&self, index: c_int) -> Result<FoundDevice> {
        let mut properties = Properties([0; 4096]);
        let gcn_arch_name = self.properties(index, &mut properties)?;
        let product = text_at(&properties, 0);
        let target = text_at(&properties, gcn_arch_name);
        let device = DeviceInfo::hip(&target)
            .map_err(|error| format!("could not use hip:{index} ({product}): the name of its target: {error}"))?;
        Ok(FoundDevice { runtime: Runtime::Hip, index, product, device })
    }

    /// Fills in the properties of a GPU. Returns the offset of `gcnArchName` in them.
    fn properties(&self, index: c_int, properties: &mut Properties) -> Result<usize> {
        let mut missing = None;
        for PropertiesFunction { name, gcn_arch_name } in PROPERTIES {
            // SAFETY: either name has this type; the structures differ, but the runtime sees only an address.
            let function =
                unsafe { self.library.function::<unsafe extern "C" fn(*mut c_void, c_int) -> hipError_t>(name) };
            match function {
                Ok(function) => {
                    // SAFETY: the buffer is larger than either structure, and aligned for it.
                    let result = unsafe { function(properties.0.as_mut_ptr().cast(), index) };
                    self.check(name, result, "ask for a GPU's properties")?;
                    return Ok(gcn_arch_name);
                }
                Err(error) => missing = Some(error),
            }
        }
        Err(missing.expect("the loop ran"))
    }

    /// Makes an error of a result that is not `HIP_SUCCESS`. `what` says what was attempted.
    fn check(&self, function: &str, result: hipError_t, what: &str) -> Result<()> {
        if result == HIP_SUCCESS {
            return Ok(());
        }
        // SAFETY: for any number, known or not, both return a constant string.
        let (name, description) = unsafe {
            (CStr::from_ptr((self.hipGetErrorName)(result)), CStr::from_ptr((self.hipGetErrorString)(result)))
        };
        let (name, description) = (name.to_string_lossy(), description.to_string_lossy());
        let mut message = format!("could not {what}: {function} returned {name} ({result})");
        // HIP 5 describes an error by its name.
        if description != name {
            message += ": ";
            message += &description;
        }
        Err(message.into())
    }
}

/// The text of the 256 bytes at `offset`, as far as its NUL.
fn text_at(properties: &Properties, offset: usize) -> String {
    let field = &properties.0[offset..offset + 256];
    let text = field.split(|&byte| byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(text).into_owned()
}

/// An image, loaded on the current GPU.
struct Module<'a> {
    hip: &'a Hip,
    module: hipModule_t,
}

impl<'a> Module<'a> {
    fn load(hip: &'a Hip, image: &PackImage) -> Result<Self> {
        let mut module = ptr::null_mut();
        // SAFETY: the pointer leads to a whole code object, whose headers say how large it is.
        let result = unsafe { (hip.hipModuleLoadData)(&mut module, image.as_ptr()) };
        let what = format!("load the {} {} ({} bytes)", image.target(), image.kind(), image.bytes().len());
        hip.check("hipModuleLoadData", result, &what)
            .map_err(|error| format!("{error}\nThe runtime may be too old for this compiler's images: update ROCm."))?;
        Ok(Self { hip, module })
    }

    fn function(&self, name: &CStr) -> Result<hipFunction_t> {
        let mut function = ptr::null_mut();
        // SAFETY: the module is loaded, and the name ends with a NUL.
        let result = unsafe { (self.hip.hipModuleGetFunction)(&mut function, self.module, name.as_ptr()) };
        let what = format!("find the kernel {} in the image", name.to_string_lossy());
        self.hip.check("hipModuleGetFunction", result, &what)?;
        Ok(function)
    }
}

impl Drop for Module<'_> {
    fn drop(&mut self) {
        // SAFETY: loaded in `load`, and unloaded only here. Nothing is left to do about an error, nor in the other
        // `drop`.
        unsafe { (self.hip.hipModuleUnload)(self.module) };
    }
}

/// Memory on the current GPU.
struct Buffer<'a> {
    hip: &'a Hip,
    address: *mut c_void,
    len: usize,
}

impl<'a> Buffer<'a> {
    fn with_contents(hip: &'a Hip, contents: &[f32]) -> Result<Self> {
        let size = size_of_val(contents);
        let mut address = ptr::null_mut();
        // SAFETY: it writes one pointer.
        let result = unsafe { (hip.hipMalloc)(&mut address, size) };
        hip.check("hipMalloc", result, &format!("allocate {size} bytes on the GPU"))?;
        let buffer = Self { hip, address, len: contents.len() };
        // SAFETY: both sides have `size` bytes.
        let result = unsafe { (hip.hipMemcpy)(address, contents.as_ptr().cast(), size, HIP_MEMCPY_HOST_TO_DEVICE) };
        hip.check("hipMemcpy", result, &format!("copy {size} bytes to the GPU"))?;
        Ok(buffer)
    }

    fn read(&self, into: &mut [f32]) -> Result<()> {
        assert_eq!(into.len(), self.len);
        let size = size_of_val(into);
        // SAFETY: both sides have `size` bytes, and each pattern of bits is an `f32`.
        let result =
            unsafe { (self.hip.hipMemcpy)(into.as_mut_ptr().cast(), self.address, size, HIP_MEMCPY_DEVICE_TO_HOST) };
        self.hip.check("hipMemcpy", result, &format!("copy {size} bytes from the GPU"))
    }
}

/// It may be passed for a pointer of a kernel.
impl DeviceBuffer for Buffer<'_> {
    type Item = f32;

    fn device_address(&self) -> *const f32 {
        self.address.cast_const().cast()
    }
}

impl Drop for Buffer<'_> {
    fn drop(&mut self) {
        // SAFETY: allocated in `with_contents`, and freed only here.
        unsafe { (self.hip.hipFree)(self.address) };
    }
}

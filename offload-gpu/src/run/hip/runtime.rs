//! The functions and errors of AMD's HIP runtime.
//!
//! Names, types and numbers are as in `hip/hip_runtime_api.h` (HIP 5.2 to 7); comments note the
//! differences between the versions.

use crate::run::error::{DriverErrors, Result, RunError, in_words};
use crate::run::library::{self, functions};
use alloc::format;
use alloc::string::String;
use core::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::sync::OnceLock;

/// The names of the runtime's library. Other crates' bindings use the unversioned name, which only
/// the development files provide. Without these files, only the versioned names exist.
const LIBRARIES: &[&str] = if cfg!(windows) {
    &["amdhip64_7.dll", "amdhip64_6.dll", "amdhip64.dll"]
} else {
    &["libamdhip64.so", "libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5"]
};

// The type keeps the name from the header.
#[allow(non_camel_case_types)]
/// The runtime's error code, an enumeration in the header.
pub(super) type hipError_t = c_int;

const HIP_SUCCESS: hipError_t = 0;
/// `hipErrorNoDevice` and `hipErrorInvalidDevice`: HIP 5.2 returns either code if there is no GPU.
const NO_GPU: [hipError_t; 2] = [100, 101];

// hipMemcpyKind.
pub(super) const HOST_TO_DEVICE: c_int = 1;
pub(super) const DEVICE_TO_HOST: c_int = 2;

functions! {
    /// The runtime's functions that this crate calls. Handles are opaque pointers.
    struct Hip {
        fn hipInit(c_uint) -> hipError_t;
        fn hipGetErrorName(hipError_t) -> *const c_char;
        fn hipGetErrorString(hipError_t) -> *const c_char;
        fn hipGetDeviceCount(*mut c_int) -> hipError_t;
        fn hipGetDevice(*mut c_int) -> hipError_t;
        fn hipSetDevice(c_int) -> hipError_t;
        fn hipDeviceSynchronize() -> hipError_t;
        fn hipModuleLoadData(*mut *mut c_void, *const c_void) -> hipError_t;
        fn hipModuleUnload(*mut c_void) -> hipError_t;
        fn hipModuleGetFunction(*mut *mut c_void, *mut c_void, *const c_char) -> hipError_t;
        // The results: the address, and the size in bytes.
        fn hipModuleGetGlobal(*mut *mut c_void, *mut usize, *mut c_void, *const c_char) -> hipError_t;
        fn hipMalloc(*mut *mut c_void, usize) -> hipError_t;
        fn hipFree(*mut c_void) -> hipError_t;
        fn hipMemcpy(*mut c_void, *const c_void, usize, c_int) -> hipError_t;
        // The arguments: the function, the blocks in x, y and z, the threads in x, y and z, the
        // bytes of dynamic shared memory, the stream, the kernel's arguments, and `extra`.
        fn hipModuleLaunchKernel(
            *mut c_void, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, *mut c_void,
            *mut *mut c_void, *mut *mut c_void,
        ) -> hipError_t;
        optional
        // Each version of the runtime has at least one of these two functions. HIP 6 changed the
        // structure, but the function with the old name still writes the old structure.
        fn hipGetDevicePropertiesR0600(*mut c_void, c_int) -> hipError_t;
        fn hipGetDeviceProperties(*mut c_void, c_int) -> hipError_t;
    }
}

/// Space for a `hipDeviceProp_t` of any version: the structure has 1472 bytes in HIP 6.2 to 7.2,
/// and 792 in 5.2.
#[repr(C, align(16))]
pub(super) struct Properties {
    bytes: [u8; 4096],
    pub(super) places: &'static Places,
}

/// The byte offsets of one version's fields. Both versions begin with `char name[256]`.
pub(super) struct Places {
    pub(super) total_global_mem: usize,
    pub(super) shared_mem_per_block: usize,
    pub(super) max_threads_per_block: usize,
    /// The offset of the numbers for x, y and z.
    pub(super) max_threads_dim: usize,
    /// The offset of the numbers for x, y and z.
    pub(super) max_grid_size: usize,
    pub(super) gcn_arch_name: usize,
}

const R0600: Places = Places {
    total_global_mem: 288,
    shared_mem_per_block: 296,
    max_threads_per_block: 320,
    max_threads_dim: 324,
    max_grid_size: 336,
    gcn_arch_name: 1160,
};

const R0000: Places = Places {
    total_global_mem: 256,
    shared_mem_per_block: 264,
    max_threads_per_block: 280,
    max_threads_dim: 284,
    max_grid_size: 296,
    gcn_arch_name: 396,
};

impl Properties {
    /// Returns the numbers for x, y and z at this offset.
    pub(super) fn three(&self, at: usize) -> [u64; 3] {
        [0, 4, 8].map(|of| self.u32(at + of))
    }

    pub(super) fn u32(&self, at: usize) -> u64 {
        let bytes = self.bytes[at..].first_chunk().copied().unwrap_or_default();
        u32::from_ne_bytes(bytes).into()
    }

    pub(super) fn u64(&self, at: usize) -> u64 {
        u64::from_ne_bytes(self.bytes[at..].first_chunk().copied().unwrap_or_default())
    }

    /// Returns the text at this offset, up to its NUL; the field has 256 bytes.
    pub(super) fn text(&self, at: usize) -> String {
        let field = &self.bytes[at..at + 256];
        let text = field.split(|&byte| byte == 0).next().unwrap_or_default();
        String::from_utf8_lossy(text).into_owned()
    }
}

/// The result of the first call to `get`.
static HIP: OnceLock<core::result::Result<Hip, String>> = OnceLock::new();

impl Hip {
    /// Returns the initialized runtime. The first call loads it.
    ///
    /// Returns an error message if there is no runtime, or if the runtime finds no GPU.
    pub(super) fn get() -> core::result::Result<&'static Self, String> {
        HIP.get_or_init(Self::load).as_ref().map_err(String::clone)
    }

    fn load() -> core::result::Result<Self, String> {
        // SAFETY: these names belong to AMD's runtime, and the types are those of its header.
        let hip = unsafe { library::open(LIBRARIES, Self::of) }
            .map_err(|why| format!("no HIP runtime: {why}"))?;
        // SAFETY: the flags must be 0.
        match unsafe { (hip.hipInit)(0) } {
            HIP_SUCCESS => Ok(hip),
            code if NO_GPU.contains(&code) => Err(hip.no_gpu()),
            code => {
                let error = in_words(code, &hip.text_of(code));
                Err(format!("the HIP runtime does not start: hipInit returned {error}"))
            }
        }
    }

    pub(super) fn no_gpu(&self) -> String {
        format!("the HIP runtime, {}, finds no GPU", self.name)
    }

    pub(super) fn count(&self) -> Result<c_int> {
        let mut count = 0;
        // SAFETY: the call writes one int.
        let code = unsafe { (self.hipGetDeviceCount)(&mut count) };
        if NO_GPU.contains(&code) {
            return Ok(0);
        }
        self.check("hipGetDeviceCount", code, || "count the GPUs".into()).map(|()| count)
    }

    pub(super) fn properties(&self, ordinal: c_int) -> Result<Properties> {
        let attempted = || format!("read the properties of hip:{ordinal}");
        let (name, function, places) =
            match (self.hipGetDevicePropertiesR0600, self.hipGetDeviceProperties) {
                (Some(function), _) => ("hipGetDevicePropertiesR0600", function, &R0600),
                (None, Some(function)) => ("hipGetDeviceProperties", function, &R0000),
                (None, None) => {
                    let why = format!("{} has no function hipGetDeviceProperties", self.name);
                    return Err(RunError::refused(attempted(), why));
                }
            };
        let mut properties = Properties { bytes: [0; 4096], places };
        // SAFETY: `bytes` is larger than any version's structure, and aligned for it.
        let code = unsafe { function(properties.bytes.as_mut_ptr().cast(), ordinal) };
        self.check(name, code, attempted).map(|()| properties)
    }
}

impl DriverErrors for Hip {
    /// Returns the error's name, and the description unless it equals the name, as in HIP 5.
    fn text_of(&self, code: hipError_t) -> String {
        // SAFETY: both functions return a constant string for any number, known or not.
        let (name, description) = unsafe {
            (
                CStr::from_ptr((self.hipGetErrorName)(code)),
                CStr::from_ptr((self.hipGetErrorString)(code)),
            )
        };
        let (name, description) = (name.to_string_lossy(), description.to_string_lossy());
        if name == description { name.into_owned() } else { format!("{name}: {description}") }
    }
}

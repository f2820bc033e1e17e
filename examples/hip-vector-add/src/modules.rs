//! Loads a pack onto AMD GPUs: for each GPU the image that fits it, once, whichever threads ask. Copy this file.

use std::collections::BTreeMap;
use std::error::Error;
use std::ffi::{CStr, c_int};
use std::fmt;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cubecl_hip_sys as hip;
use offload::select::SelectError;
use offload::target::ParseError;
use offload::{DeviceInfo, KernelPack, PackImage};

/// How many AMD GPUs there are: at least 1. Returns an error if there is no HIP runtime, or no GPU.
pub fn gpu_count() -> Result<c_int, LoadError> {
    if !hip::is_available() {
        // Any call of cubecl-hip-sys's would panic.
        return Err(LoadError::NoRuntime);
    }
    let mut count = 0;
    // SAFETY: it writes one int.
    let result = unsafe { hip::hipGetDeviceCount(&mut count) };
    // Which of the two it is depends on the version.
    if [hip::hipError_t_hipErrorNoDevice, hip::hipError_t_hipErrorInvalidDevice].contains(&result) {
        return Err(LoadError::NoGpu);
    }
    check("hipGetDeviceCount", result)?;
    if count == 0 { Err(LoadError::NoGpu) } else { Ok(count) }
}

/// A pack of one module, and what is loaded of it, which stays loaded. A `static` can hold it.
pub struct Modules {
    pack: &'static KernelPack,
    // A lock for each GPU, so that those of one do not wait for another.
    loaded: Mutex<BTreeMap<c_int, Arc<Mutex<Option<Loaded>>>>>,
}

/// An image that is on a GPU.
#[derive(Clone, Copy)]
pub struct Loaded {
    /// Which one it is.
    pub image: PackImage,
    /// What has its kernels.
    pub module: hip::hipModule_t,
}

// SAFETY: a module's handle may be used on any thread; it is never unloaded.
unsafe impl Send for Loaded {}

impl Modules {
    /// Nothing is loaded yet.
    pub const fn new(pack: &'static KernelPack) -> Self {
        Self { pack, loaded: Mutex::new(BTreeMap::new()) }
    }

    /// The module on the GPU with this index, which becomes the calling thread's current one. The first call loads it;
    /// others wait for that, and get the same.
    ///
    /// Returns an error that says why no image fits, or what the runtime has against the one that does. After
    /// [`gpu_count`] there is a runtime; without one this panics.
    pub fn on(&self, gpu: c_int) -> Result<Loaded, LoadError> {
        // SAFETY: an index that is out of range is an error.
        check("hipSetDevice", unsafe { hip::hipSetDevice(gpu) })?;
        let slot = Arc::clone(lock(&self.loaded).entry(gpu).or_default());
        let mut slot = lock(&slot);
        if let Some(found) = &*slot {
            return Ok(*found);
        }
        let image = self.pack.select(&device(gpu)?)?.into_image();
        let mut module = ptr::null_mut();
        // SAFETY: the pointer leads to a whole code object.
        let result = unsafe { hip::hipModuleLoadData(&mut module, image.as_ptr()) };
        if result != hip::HIP_SUCCESS {
            return Err(LoadError::Refused { image, result });
        }
        Ok(*slot.insert(Loaded { image, module }))
    }
}

/// What is behind a lock is whole even if a thread that held it panicked.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What selection needs to know of a GPU: the name of its target, with its features.
fn device(gpu: c_int) -> Result<DeviceInfo, LoadError> {
    let mut properties = MaybeUninit::<hip::hipDeviceProp_tR0600>::zeroed();
    // SAFETY: it fills in the structure, which is of the version that its name says.
    check("hipGetDeviceProperties", unsafe { hip::hipGetDevicePropertiesR0600(properties.as_mut_ptr(), gpu) })?;
    // SAFETY: it has numbers and texts only, so that zeros were a value of it before the call.
    let properties = unsafe { properties.assume_init() };
    // SAFETY: the runtime ends the text with a NUL.
    let name = unsafe { CStr::from_ptr(properties.gcnArchName.as_ptr()) };
    DeviceInfo::hip(&name.to_string_lossy()).map_err(LoadError::Unknown)
}

/// Makes an error of a result that is not `HIP_SUCCESS`.
pub fn check(function: &'static str, result: hip::hipError_t) -> Result<(), LoadError> {
    if result == hip::HIP_SUCCESS { Ok(()) } else { Err(LoadError::Runtime { function, result }) }
}

fn error_name(result: hip::hipError_t) -> String {
    // SAFETY: for any number it returns a constant text.
    let name = unsafe { CStr::from_ptr(hip::hipGetErrorName(result)) };
    format!("{} ({result})", name.to_string_lossy())
}

/// Why nothing is loaded.
#[derive(Debug)]
pub enum LoadError {
    /// The runtime's libraries are not there.
    NoRuntime,
    /// There is none that the runtime can use.
    NoGpu,
    /// The runtime's name for the GPU is not that of a target.
    Unknown(ParseError),
    /// No image of the pack fits, or the pack is empty.
    NoImage(SelectError<PackImage>),
    /// The runtime does not take the image that fits.
    Refused {
        /// The image.
        image: PackImage,
        /// What the runtime returned.
        result: hip::hipError_t,
    },
    /// Anything else that fails in the runtime.
    Runtime {
        /// The function.
        function: &'static str,
        /// What it returned.
        result: hip::hipError_t,
    },
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoRuntime => {
                write!(f, "no HIP runtime: libamdhip64.so and libhiprtc.so were not found, also not in $ROCM_PATH/lib")
            }
            Self::NoGpu => write!(f, "no AMD GPU: the HIP runtime finds none"),
            Self::Unknown(error) => write!(f, "the GPU's name for its target: {error}"),
            Self::NoImage(error) => error.fmt(f),
            Self::Refused { image, result } => {
                let (target, kind) = (image.target(), image.kind());
                write!(f, "the HIP runtime does not load the {target} {kind}: {}", error_name(*result))
            }
            Self::Runtime { function, result } => write!(f, "{function} returned {}", error_name(*result)),
        }
    }
}

impl Error for LoadError {}

impl From<SelectError<PackImage>> for LoadError {
    fn from(error: SelectError<PackImage>) -> Self {
        Self::NoImage(error)
    }
}

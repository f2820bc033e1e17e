//! Loads a pack onto NVIDIA GPUs: for each GPU the image that fits it, once, whichever threads ask. Copy this file.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cudarc::driver::{CudaContext, CudaModule, DriverError, sys};
use cudarc::nvrtc::Ptx;
use offload::select::SelectError;
use offload::{ComputeCapability, DeviceInfo, KernelPack, PackImage, PackImageKind};

/// The GPU with this index, counted from 0. Returns an error if there is no driver, or no such GPU.
pub fn gpu(index: usize) -> Result<Arc<CudaContext>, LoadError> {
    // SAFETY: it loads NVIDIA's driver library, which programs may do at any time.
    if !unsafe { sys::is_culib_present() } {
        // Any call of cudarc's would panic.
        return Err(LoadError::NoDriver);
    }
    CudaContext::new(index).map_err(|error| match error.0 {
        sys::CUresult::CUDA_ERROR_NO_DEVICE | sys::CUresult::CUDA_ERROR_INVALID_DEVICE => LoadError::NoGpu { index },
        _ => LoadError::Driver(error),
    })
}

/// A pack of one module, and what is loaded of it. A `static` can hold it, or whoever uses the pack.
pub struct Modules {
    pack: &'static KernelPack,
    // A lock for each GPU, so that those of one do not wait for another.
    loaded: Mutex<BTreeMap<usize, Arc<Mutex<Option<Loaded>>>>>,
}

/// An image that is on a GPU.
#[derive(Clone)]
pub struct Loaded {
    /// Which one it is.
    pub image: PackImage,
    /// What has its kernels.
    pub module: Arc<CudaModule>,
}

impl Modules {
    /// Nothing is loaded yet.
    pub const fn new(pack: &'static KernelPack) -> Self {
        Self { pack, loaded: Mutex::new(BTreeMap::new()) }
    }

    /// The module on this GPU, which becomes the calling thread's current one. The first call loads it; others wait for
    /// that, and get the same.
    ///
    /// Returns an error that says why no image fits, or what the driver has against the one that does.
    pub fn on(&self, gpu: &Arc<CudaContext>) -> Result<Loaded, LoadError> {
        // cudarc does not do it when it looks for kernels.
        gpu.bind_to_thread()?;
        let slot = Arc::clone(lock(&self.loaded).entry(gpu.ordinal()).or_default());
        let mut slot = lock(&slot);
        if let Some(found) = &*slot {
            return Ok(found.clone());
        }
        let image = self.pack.select(&device(gpu)?)?.into_image();
        let contents = match image.kind() {
            // cudarc puts the NUL behind it.
            PackImageKind::Ptx { .. } => Ptx::from_src(String::from_utf8_lossy(image.bytes())),
            _ => Ptx::from_binary(image.bytes().to_vec()),
        };
        let module = gpu.load_module(contents).map_err(|error| LoadError::Refused { image, error })?;
        Ok(slot.insert(Loaded { image, module }).clone())
    }
}

/// What is behind a lock is whole even if a thread that held it panicked.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What selection needs to know of a GPU.
fn device(gpu: &CudaContext) -> Result<DeviceInfo, DriverError> {
    let (major, minor) = gpu.compute_capability()?;
    let mut driver_version = 0;
    // SAFETY: it writes one int.
    unsafe { sys::cuDriverGetVersion(&mut driver_version) }.result()?;
    let capability = ComputeCapability { major: major.unsigned_abs(), minor: minor.unsigned_abs() };
    Ok(DeviceInfo::cuda(capability, driver_version.unsigned_abs()))
}

/// Why nothing is loaded.
#[derive(Debug)]
pub enum LoadError {
    /// The driver's library is not there.
    NoDriver,
    /// There are not that many GPUs.
    NoGpu {
        /// The index that was asked for.
        index: usize,
    },
    /// No image of the pack fits, or the pack is empty.
    NoImage(SelectError<PackImage>),
    /// The driver does not take the image that fits.
    Refused {
        /// The image.
        image: PackImage,
        /// What the driver says.
        error: DriverError,
    },
    /// Anything else that the driver says.
    Driver(DriverError),
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoDriver => write!(f, "no CUDA driver: its library (libcuda.so.1, nvcuda.dll) was not found"),
            Self::NoGpu { index: 0 } => write!(f, "no NVIDIA GPU: the CUDA driver finds none"),
            Self::NoGpu { index } => write!(f, "no NVIDIA GPU with index {index}"),
            Self::NoImage(error) => error.fmt(f),
            Self::Refused { image, error } => {
                write!(f, "the CUDA driver does not load the {} {}: {error}", image.target(), image.kind())
            }
            Self::Driver(error) => write!(f, "the CUDA driver failed: {error}"),
        }
    }
}

impl Error for LoadError {}

impl From<SelectError<PackImage>> for LoadError {
    fn from(error: SelectError<PackImage>) -> Self {
        Self::NoImage(error)
    }
}

impl From<DriverError> for LoadError {
    fn from(error: DriverError) -> Self {
        Self::Driver(error)
    }
}

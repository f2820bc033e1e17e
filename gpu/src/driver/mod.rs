//! Calls the drivers' functions directly, to compare them with offload-gpu.

pub mod cuda;
mod hip;

use crate::system;
use libloading::Library;
use offload_gpu::run::{Device, Vendor};
use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::mem::ManuallyDrop;
use std::ptr;

/// A loaded driver, for one of its devices.
pub struct Driver {
    library: ManuallyDrop<Library>,
    device: Device,
    vendor: Vendor,
    /// Whether the device is current on this thread.
    is_entered: bool,
    /// The names of the five functions in the fields below.
    names: [&'static str; 5],
    load: unsafe extern "C" fn(*mut *mut c_void, *const c_void) -> c_int,
    unload: unsafe extern "C" fn(*mut c_void) -> c_int,
    get: unsafe extern "C" fn(*mut *mut c_void, *mut c_void, *const c_char) -> c_int,
    launch: Launch,
    synchronize: unsafe extern "C" fn() -> c_int,
}

/// The type of `cuLaunchKernel` and `hipModuleLaunchKernel`.
pub type Launch = unsafe extern "C" fn(
    *mut c_void,
    c_uint,
    c_uint,
    c_uint,
    c_uint,
    c_uint,
    c_uint,
    c_uint,
    *mut c_void,
    *mut *mut c_void,
    *mut *mut c_void,
) -> c_int;

/// A driver's error: the function, and a description of the error code.
#[derive(Debug, Clone)]
pub struct Refusal(pub String);

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Refusal {}

pub type Result<T = ()> = std::result::Result<T, Refusal>;

/// A launch's shape: blocks, threads, bytes of dynamic shared memory.
pub type Shape = ([u32; 3], [u32; 3], u32);

impl Driver {
    /// Returns a GPU's driver after making that GPU current. Returns `None` unless the vendor is
    /// NVIDIA or AMD.
    pub fn of(device: &Device) -> Option<Result<Self>> {
        Some(Self::loaded(device)?.and_then(|mut driver| {
            match driver.vendor {
                Vendor::Nvidia => cuda::enter(&driver)?,
                _ => hip::enter(&driver)?,
            }
            driver.is_entered = true;
            Ok(driver)
        }))
    }

    /// Returns a GPU's driver for queries that need no context. Returns `None` unless the vendor is
    /// NVIDIA or AMD.
    pub fn loaded(device: &Device) -> Option<Result<Self>> {
        match device.vendor() {
            Vendor::Nvidia => Some(cuda::load(device)),
            Vendor::Amd => Some(hip::load(device)),
            _ => None,
        }
    }

    /// Returns the name of the library's file, which contains the version: `libcuda.so.550.54.15`.
    pub fn file(&self) -> Option<String> {
        let path = system::file_of(self.load as *const c_void)?;
        Some(path.canonicalize().ok()?.file_name()?.to_string_lossy().into_owned())
    }

    /// Returns the driver's version as text.
    pub fn version(&self) -> Option<String> {
        let function = match self.vendor {
            Vendor::Nvidia => "cuDriverGetVersion",
            _ => "hipRuntimeGetVersion",
        };
        let version = self.number(function)?;
        Some(match self.vendor {
            Vendor::Nvidia => format!("CUDA {}.{}", version / 1000, version % 1000 / 10),
            _ => {
                let (major, minor) = (version / 10_000_000, version / 100_000 % 100);
                format!("HIP {major}.{minor}.{}", version % 100_000)
            }
        })
    }

    /// Whether this is a HIP runtime older than 6.3, which refuses code objects of version 6.
    pub fn is_before_rocm_6_3(&self) -> bool {
        let version = self.number("hipRuntimeGetVersion").filter(|_| self.vendor == Vendor::Amd);
        version.is_some_and(|it| (it / 10_000_000, it / 100_000 % 100) < (6, 3))
    }

    /// Calls a driver function that writes a number, and returns this number.
    fn number(&self, function: &str) -> Option<c_int> {
        type Get = unsafe extern "C" fn(*mut c_int) -> c_int;
        let mut number = 0;
        // SAFETY: callers pass only functions that have this type and write one number.
        let code = unsafe { self.function::<Get>(function).ok()?(&mut number) };
        (code == 0).then_some(number)
    }

    /// Returns the driver's device.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Returns a function of the library.
    ///
    /// # Safety
    /// `F` is the type of a function pointer, and the function of this name has this type.
    pub unsafe fn function<F: Copy>(&self, name: &str) -> Result<F> {
        // SAFETY: the caller guarantees the type.
        unsafe { find(&self.library, name) }
    }

    /// Converts a code other than 0 to an error.
    pub fn check(&self, function: &str, code: c_int) -> Result {
        match code {
            0 => Ok(()),
            code => Err(Refusal(format!("{function} returned {}", self.name(code)))),
        }
    }

    /// Returns an error's name, with its number.
    fn name(&self, code: c_int) -> String {
        type Cuda = unsafe extern "C" fn(c_int, *mut *const c_char) -> c_int;
        type Hip = unsafe extern "C" fn(c_int) -> *const c_char;
        let mut name = ptr::null();
        match self.vendor {
            Vendor::Nvidia => {
                // SAFETY: the function has this type, and writes one pointer.
                if let Ok(get) = unsafe { self.function::<Cuda>("cuGetErrorName") } {
                    // SAFETY: as above.
                    unsafe { get(code, &mut name) };
                }
            }
            _ => {
                // SAFETY: the function has this type.
                if let Ok(get) = unsafe { self.function::<Hip>("hipGetErrorName") } {
                    // SAFETY: the function accepts any number.
                    name = unsafe { get(code) };
                }
            }
        }
        if name.is_null() {
            return format!("{code}, which has no name");
        }
        // SAFETY: drivers return constant strings.
        format!("{} ({code})", unsafe { CStr::from_ptr(name) }.to_string_lossy())
    }

    /// Loads an image unchanged. Copies the bytes to an aligned address, and adds a NUL.
    pub fn load(&self, image: &[u8]) -> Result<*mut c_void> {
        const PAGE: usize = 4096;
        let mut copy = vec![0_u8; image.len() + PAGE + 8];
        let start = copy.as_ptr().align_offset(PAGE);
        copy[start..start + image.len()].copy_from_slice(image);
        // Drivers may read the image as long as the module is loaded, so never free the copy.
        let copy = copy.leak();
        let mut module = ptr::null_mut();
        // SAFETY: the pointer is the address of a whole image with a NUL after it.
        let code = unsafe { (self.load)(&mut module, copy[start..].as_ptr().cast()) };
        self.check(self.names[0], code).map(|()| module)
    }

    /// Unloads a module.
    ///
    /// # Safety
    /// The module comes from [`Driver::load`], and is not used afterwards.
    pub unsafe fn unload(&self, module: *mut c_void) -> Result {
        // SAFETY: the caller guarantees that the module is loaded.
        self.check(self.names[1], unsafe { (self.unload)(module) })
    }

    /// Returns a kernel of a loaded module.
    ///
    /// # Safety
    /// The module comes from [`Driver::load`].
    pub unsafe fn get(&self, module: *mut c_void, kernel: &str) -> Result<*mut c_void> {
        let name = CString::new(kernel).map_err(|_| Refusal("a NUL in a name".to_owned()))?;
        let mut function = ptr::null_mut();
        // SAFETY: the caller guarantees that the module is loaded; the name ends with a NUL.
        let code = unsafe { (self.get)(&mut function, module, name.as_ptr()) };
        self.check(&format!("{} of {kernel}", self.names[2]), code).map(|()| function)
    }

    /// Launches a kernel on the default stream.
    ///
    /// # Safety
    /// The function comes from [`Driver::get`], and the arguments are those of the kernel.
    pub unsafe fn launch(
        &self,
        function: *mut c_void,
        (grid, block, shared): Shape,
        arguments: &mut [*mut c_void],
    ) -> Result {
        let ([gx, gy, gz], [bx, by, bz]) = (grid, block);
        // SAFETY: the caller guarantees the arguments.
        let code = unsafe {
            (self.launch)(
                function,
                gx,
                gy,
                gz,
                bx,
                by,
                bz,
                shared,
                ptr::null_mut(),
                arguments.as_mut_ptr(),
                ptr::null_mut(),
            )
        };
        self.check(self.names[3], code)
    }

    pub fn synchronize(&self) -> Result {
        // SAFETY: a device is current.
        self.check(self.names[4], unsafe { (self.synchronize)() })
    }

    fn new(library: Library, device: &Device, names: [&'static str; 5]) -> Result<Self> {
        // SAFETY: the names and types are those in the vendors' headers.
        unsafe {
            Ok(Self {
                load: find(&library, names[0])?,
                unload: find(&library, names[1])?,
                get: find(&library, names[2])?,
                launch: find(&library, names[3])?,
                synchronize: find(&library, names[4])?,
                library: ManuallyDrop::new(library),
                vendor: device.vendor(),
                is_entered: false,
                device: device.clone(),
                names,
            })
        }
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        if self.is_entered && self.vendor == Vendor::Nvidia {
            cuda::leave(self);
        }
    }
}

/// # Safety
/// `F` is the type of a function pointer, and the function of this name has this type.
unsafe fn find<F: Copy>(library: &Library, name: &str) -> Result<F> {
    // SAFETY: the caller guarantees the type.
    let found = unsafe { library.get::<F>(name.as_bytes()) };
    found.map(|symbol| *symbol).map_err(|_| Refusal(format!("the driver has no {name}")))
}

fn library(names: &[&str]) -> Result<Library> {
    // SAFETY: these are the vendors' libraries, which offload-gpu has already loaded.
    let found = names.iter().find_map(|name| unsafe { Library::new(*name) }.ok());
    found.ok_or_else(|| Refusal(format!("the loader finds no {}", names.join(", "))))
}

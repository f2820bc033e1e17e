//! The devices of this machine, and how the libraries that drive them are loaded.

use std::error::Error;
use std::mem::ManuallyDrop;

use libloading::Library;
use offload::{DeviceInfo, KernelPack, PackImage};

use crate::saxpy::Problem;
use crate::{cpu, cuda, hip};

/// A result whose error is a text for the user: what was attempted, what happened, what to do.
pub type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// What drives a device.
#[derive(Clone, Copy, Debug)]
pub enum Runtime {
    Cuda,
    Hip,
    Cpu,
}

/// A device in this machine.
#[derive(Debug)]
pub struct FoundDevice {
    pub runtime: Runtime,
    /// Its number among the devices of its runtime.
    pub index: i32,
    /// The name on the box.
    pub product: String,
    /// What chooses the image.
    pub device: DeviceInfo,
}

impl FoundDevice {
    /// The name in the table and on the command line: `cuda:0`, `hip:1`, `cpu`.
    pub fn name(&self) -> String {
        match self.runtime {
            Runtime::Cuda => format!("cuda:{}", self.index),
            Runtime::Hip => format!("hip:{}", self.index),
            Runtime::Cpu => "cpu".to_owned(),
        }
    }

    /// Runs the kernel in `image`, which was selected for this device.
    pub fn run(&self, image: &PackImage, problem: &mut Problem) -> Result<()> {
        match self.runtime {
            Runtime::Cuda => cuda::run(self.index, image, problem),
            Runtime::Hip => hip::run(self.index, image, problem),
            Runtime::Cpu => cpu::run(image, problem),
        }
        .map_err(|error| format!("{}: {error}", self.name()).into())
    }
}

/// What was looked for, and what was found.
pub struct Machine {
    /// The best first: NVIDIA GPUs, AMD GPUs, the CPU.
    pub devices: Vec<FoundDevice>,
    /// For each runtime that has no device to offer, one line that says why.
    pub absent: Vec<String>,
}

impl Machine {
    /// Looks for devices. A runtime that isn't there is not an error.
    pub fn find() -> Self {
        let mut machine = Self { devices: Vec::new(), absent: Vec::new() };
        for found in [cuda::devices(), hip::devices()] {
            match found {
                Ok(devices) => machine.devices.extend(devices),
                Err(error) => machine.absent.push(error.to_string()),
            }
        }
        machine.devices.push(cpu::device());
        machine
    }

    /// The device of this name.
    ///
    /// Returns an error that lists the devices if there is none.
    pub fn device(&self, name: &str) -> Result<&FoundDevice> {
        let found = self.devices.iter().find(|device| device.name() == name);
        found.ok_or_else(|| {
            let names: Vec<_> = self.devices.iter().map(FoundDevice::name).collect();
            let mut message = format!("no device `{name}` in this machine; found: {}", names.join(", "));
            for absent in &self.absent {
                message += "\n  ";
                message += absent;
            }
            message.into()
        })
    }

    /// The first device that an image of `pack` fits.
    ///
    /// Returns an error that tells for each device why none does.
    pub fn best_device(&self, pack: &KernelPack) -> Result<&FoundDevice> {
        let mut refusals = Vec::new();
        for device in &self.devices {
            match pack.select(&device.device) {
                Ok(_) => return Ok(device),
                Err(error) => refusals.push(error.to_string()),
            }
        }
        // Two GPUs of a kind are refused in the same words.
        refusals.dedup();
        Err(refusals.join("\n").into())
    }
}

/// A library that stays loaded until the program ends.
///
/// Drivers start threads and register exit handlers, so unloading one pulls the code from under them.
pub struct SharedLibrary {
    /// The file name under which it was found.
    pub name: &'static str,
    library: ManuallyDrop<Library>,
}

impl SharedLibrary {
    /// Loads the first of `names` that is there. `what` says what it is, for the error.
    ///
    /// # Safety
    /// A library of one of these names must be what the name promises: code that may run in this process.
    pub unsafe fn open(what: &str, names: &[&'static str]) -> Result<Self> {
        let mut broken = Vec::new();
        for name in names {
            // SAFETY: the caller answers for what the library does while it is loaded.
            match unsafe { Library::new(*name) } {
                Ok(library) => {
                    return Ok(Self { name, library: ManuallyDrop::new(library) });
                }
                Err(error) => {
                    // The loader's own words, where it has any, are in the source.
                    let reason = error.source().map_or_else(|| error.to_string(), ToString::to_string);
                    if !is_not_found(name, &reason) {
                        broken.push(format!("{name} does not load: {reason}"));
                    }
                }
            }
        }
        if broken.is_empty() {
            Err(format!("no {what} ({} not found)", names.join(", ")).into())
        } else {
            Err(format!("no {what} ({})", broken.join("; ")).into())
        }
    }

    /// The address of a function, which stays valid, as the library is never unloaded.
    ///
    /// Returns an error if the library has no function of this name.
    ///
    /// # Safety
    /// `F` must be the type of the function of this name: a function pointer.
    pub unsafe fn function<F: Copy>(&self, name: &str) -> Result<F> {
        // SAFETY: the caller answers for the type.
        match unsafe { self.library.get::<F>(name) } {
            Ok(function) => Ok(*function),
            Err(_) => Err(format!("{} has no function {name}: it is too old for this program", self.name).into()),
        }
    }
}

/// Whether the loader means that there is no file `name`, and not that something is wrong with it.
fn is_not_found(name: &str, reason: &str) -> bool {
    // glibc and musl. Either may also miss a library that `name` needs; then the text has that one's name.
    (reason.contains("No such file") && reason.contains(&format!("{name}: ")))
        // macOS.
        || reason.contains("(no such file)")
        // Windows: ERROR_MOD_NOT_FOUND.
        || reason.contains("os error 126")
}

/// Declares a table of functions that a library exports under the same names, and `open`, which fills it.
///
/// One calling convention serves all: CUDA and HIP exist for 64-bit systems only, and those have no second one.
macro_rules! library {
    (
        $(#[$attribute:meta])*
        struct $table:ident {
            $(fn $function:ident($($parameter:ty),*) -> $result:ty;)*
        }
    ) => {
        $(#[$attribute])*
        #[allow(non_snake_case)]
        struct $table {
            library: $crate::runtime::SharedLibrary,
            $($function: unsafe extern "C" fn($($parameter),*) -> $result,)*
        }

        impl $table {
            /// Loads the first of `names` that is there and looks the functions up. `what` says what it is.
            ///
            /// # Safety
            /// A library of one of these names must export functions of these types.
            unsafe fn open(what: &str, names: &[&'static str]) -> $crate::runtime::Result<Self> {
                // SAFETY: the caller answers for the library.
                let library = unsafe { $crate::runtime::SharedLibrary::open(what, names)? };
                Ok(Self {
                    $(
                        // SAFETY: the caller answers for the types.
                        $function: unsafe { library.function(stringify!($function))? },
                    )*
                    library,
                })
            }
        }
    };
}
pub(crate) use library;

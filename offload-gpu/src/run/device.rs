//! The list of this machine's devices, and the choice of a device for a pack.

use super::context::Context;
use super::error::{Cause, Result, RunError};
use super::{NAMES, ORDER, cpu, cuda, of_vendor};
use crate::pack::{Form, KernelPack};
use crate::text::joined;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ffi::c_void;
use core::fmt::{self, Write as _};
use offload_format::select::DeviceInfo;
use offload_format::target::Vendor;
use std::env;

/// A device that runs kernels, with the modules loaded on it. Clones refer to the same device.
///
/// Images stay loaded only as long as a clone exists, so keep one. A device can be used on any
/// thread; drivers serialize calls where necessary. After a `fork` without `exec`, a child process
/// cannot use GPUs: no driver supports that.
///
/// Source: `cuCtxGetDevice` and `cuDeviceGetAttribute` (CUDA driver API), `hipGetDeviceProperties`
/// (HIP).
#[derive(Clone)]
pub struct Device(pub(super) Arc<Context>);

impl Device {
    /// Returns the first device, in the order of the [table of devices](super), for which each
    /// module of the pack has an image. Users of the program can override the choice by setting
    /// `OFFLOAD_DEVICE` to the name of a different device.
    ///
    /// If no device fits, returns an error that lists the vendors without devices and, for each
    /// device, the reason why no image fits.
    pub fn best_for<F: Form>(pack: &KernelPack<F>) -> Result<Self> {
        match asked_for() {
            // `named` loads only this device's driver.
            Some(name) => Self::named(&name).map_err(|error| error.advice(NAMED)),
            None => found(&|vendor| concerns(pack, vendor)).best_for(pack),
        }
    }

    /// Returns the device with this [name](super), such as `cuda:0` or `cpu`; `cuda` means
    /// `cuda:0`. Loads only this vendor's driver. This is the only function that returns an OpenCL
    /// driver's CPUs: the others omit them, since packs can have images for the CPU itself.
    ///
    /// Returns an error with the reason if there is no such device.
    pub fn named(name: &str) -> Result<Self> {
        let (vendor, ordinal) = parse(name)?;
        let (found, others) = of_vendor(vendor, Some(ordinal));
        let mut names = Vec::new();
        for device in found {
            if device.ordinal() == ordinal {
                return Ok(device);
            }
            names.push(device.name());
        }
        let why = others
            .unwrap_or_else(|| format!("this machine has {}, but no {name}", joined(&names, ", ")));
        Err(RunError::new(use_the_device(name), Cause::Absent(vendor, why)))
    }

    /// Returns this machine's CPU.
    pub fn cpu() -> Self {
        Self(cpu::device())
    }

    /// Returns the GPU of a CUDA context that another library, such as cudarc or cust, created. The
    /// context's buffers and streams can be used with the returned device. For the primary context,
    /// which most libraries use, this is the same device as in [`devices`].
    ///
    /// Returns an error if there is no driver, or if the driver does not recognize the context.
    ///
    /// # Safety
    /// `context` is a `CUcontext` that lives as long as the device, its clones and its buffers are
    /// used. With drivers for CUDA 12 or later, the device, its clones and its buffers may be
    /// dropped after the context is destroyed. Older drivers cannot distinguish a context from a
    /// later one at the same address: drop all of these values before the context is destroyed.
    #[inline]
    pub unsafe fn from_cuda_context(context: *mut c_void) -> Result<Self> {
        // SAFETY: the caller guarantees that the context is valid.
        unsafe { cuda::foreign(context) }.map(Self)
    }

    /// Returns the AMD GPU with this number in HIP's list. HIP has one context for each GPU, which
    /// all libraries of a program share: their buffers and streams can be used with the returned
    /// device.
    ///
    /// Returns an error if the runtime or the GPU is missing.
    #[inline]
    pub fn from_hip_device(ordinal: i32) -> Result<Self> {
        Self::named(&format!("hip:{ordinal}"))
    }

    /// Returns the device's name for users and for `OFFLOAD_DEVICE`: `cuda:0`, `hip:1`, `cpu`.
    pub fn name(&self) -> String {
        format!("{}", self.0.id())
    }

    /// Returns the device's vendor; [`Vendor::driver`] names its driver.
    pub fn vendor(&self) -> Vendor {
        self.0.vendor
    }

    /// Returns the device's index among its vendor's devices, from 0. Devices hidden by
    /// `CUDA_VISIBLE_DEVICES` or `HIP_VISIBLE_DEVICES` are not counted.
    pub fn ordinal(&self) -> i32 {
        self.0.ordinal
    }

    /// Returns the product name that the driver reports; for the CPU, the system and the
    /// architecture.
    pub fn product(&self) -> &str {
        &self.0.product
    }

    /// Returns the properties that decide which image is selected for the device.
    pub fn info(&self) -> &DeviceInfo {
        &self.0.info
    }

    /// Returns the size of a GPU's memory in bytes; `None` for the CPU, or if the driver does not
    /// report the size.
    pub fn memory(&self) -> Option<u64> {
        self.0.memory
    }

    /// Waits for all work that was launched on the device. With OpenCL, it does not wait for work
    /// on other command queues: call `clFinish` on these.
    ///
    /// Returns an error if a kernel failed.
    #[inline]
    pub fn synchronize(&self) -> Result<()> {
        self.0.backend.synchronize().map_err(|error| error.on(|| self.to_string()))
    }
}

/// Prints the name and the product: `cuda:0 (NVIDIA H100 80GB HBM3)`. Escapes line ends and
/// invisible characters in the product.
impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (", self.0.id())?;
        // The driver's name may contain any characters.
        for c in self.product().chars() {
            match c {
                '\'' | '"' => f.write_char(c)?,
                _ => c.escape_debug().fmt(f)?,
            }
        }
        f.write_char(')')
    }
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Device")
            .field("name", &self.name())
            .field("product", &self.product())
            .finish_non_exhaustive()
    }
}

/// Returns the value of the variable `OFFLOAD_DEVICE`, if it is set.
fn asked_for() -> Option<String> {
    let name = env::var_os("OFFLOAD_DEVICE").filter(|name| !name.is_empty())?;
    Some(name.to_string_lossy().into_owned())
}

const NAMED: &str = "The variable OFFLOAD_DEVICE selects this device.";

fn use_the_device(name: &str) -> String {
    format!("use the device \"{name}\"")
}

/// Returns the vendor and the number of the device with this name.
fn parse(name: &str) -> Result<(Vendor, i32)> {
    let (driver, ordinal) = name.split_once(':').unwrap_or((name, "0"));
    let vendor = Vendor::of_driver(driver);
    let ordinal = ordinal.parse::<u64>().ok().and_then(|ordinal| i32::try_from(ordinal).ok());
    vendor.zip(ordinal).ok_or_else(|| {
        RunError::refused(use_the_device(name), format!("expected a name such as {NAMES}"))
    })
}

/// Returns the devices of this machine, in the order of the [table of devices](super).
///
/// Each call searches for the drivers' libraries and lists the devices that the drivers report. No
/// driver is loaded when the program starts, and programs run without any driver.
///
/// ```
/// let devices = offload_gpu::run::devices();
/// for device in devices.list() {
///     println!("{device}: {}", device.info());
/// }
/// for absent in devices.absent() {
///     println!("{}: {}", absent.vendor.driver(), absent.why);
/// }
/// assert_eq!(devices.list().last().unwrap().name(), "cpu");
/// ```
pub fn devices() -> Devices {
    found(&|_| true)
}

fn found(is_wanted: &dyn Fn(Vendor) -> bool) -> Devices {
    let (mut list, mut absent) = (Vec::new(), Vec::new());
    for vendor in ORDER.into_iter().filter(|vendor| is_wanted(*vendor)) {
        let (devices, others) = of_vendor(vendor, None);
        list.extend(devices);
        absent.extend(others.map(|why| Absent { vendor, why }));
    }
    Devices { list, absent }
}

/// Whether a vendor's devices are considered for a pack. OpenCL's loader starts the drivers of all
/// vendors, so the loader is used only for packs with SPIR-V.
fn concerns<F: Form>(pack: &KernelPack<F>, vendor: Vendor) -> bool {
    vendor != Vendor::Intel || pack.has_images_of(vendor)
}

/// The result of [`devices`].
///
/// Source: `cuDeviceGetCount` (CUDA driver API), `hipGetDeviceCount` (HIP) and `clGetDeviceIDs`
/// (OpenCL).
#[derive(Debug, Clone)]
pub struct Devices {
    list: Vec<Device>,
    absent: Vec<Absent>,
}

/// A vendor with no devices on this machine, or with unusable ones.
#[derive(Debug, Clone)]
pub struct Absent {
    /// The vendor.
    pub vendor: Vendor,
    /// The reason: the driver's library is missing, the driver does not start, the driver finds no
    /// GPU, or devices lack a feature.
    pub why: String,
}

impl Devices {
    /// Returns the devices of this machine. The last device is the CPU.
    pub fn list(&self) -> &[Device] {
        &self.list
    }

    /// Returns the vendors with no devices on this machine, or with unusable ones.
    pub fn absent(&self) -> &[Absent] {
        &self.absent
    }

    /// Returns the first of these devices for which each module of the pack has an image, or the
    /// device that `OFFLOAD_DEVICE` names, like [`Device::best_for`].
    pub fn best_for<F: Form>(&self, pack: &KernelPack<F>) -> Result<Device> {
        if let Some(name) = asked_for() {
            return self.named(&name).map_err(|error| error.advice(NAMED));
        }
        let mut refusals: Vec<String> = Vec::new();
        for device in &self.list {
            match pack.modules().find_map(|module| module.select(device.info()).err()) {
                None => return Ok(device.clone()),
                Some(error) => refusals.push(error.to_string()),
            }
        }
        // Identical GPUs refuse images for identical reasons: print these once.
        refusals.dedup();
        let absent = self.absent.iter().filter(|absent| concerns(pack, absent.vendor));
        refusals.extend(absent.map(|absent| absent.why.clone()));
        let attempted = format!("find a device for the pack \"{}\"", pack.name());
        Err(RunError::refused(attempted, format!("no image fits\n{}", joined(&refusals, "\n"))))
    }

    /// Finds the device with this name in the list; [`Device::named`] describes the names.
    fn named(&self, name: &str) -> Result<Device> {
        let (vendor, ordinal) = parse(name)?;
        let is_it = |it: &&Device| it.vendor() == vendor && it.ordinal() == ordinal;
        // Some devices are not in the list, and can be used only by name.
        self.list.iter().find(is_it).cloned().map_or_else(|| Device::named(name), Ok)
    }
}

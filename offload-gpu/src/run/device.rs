//! The devices of this machine as data, and the choice of a device for a pack.

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

/// A device that runs kernels, with the modules that are loaded onto it. Clones are the same
/// device.
///
/// Images stay loaded only while a clone exists, so keep one clone. A device can be used on any
/// thread; drivers serialize calls where necessary. After a `fork`, the child cannot use GPUs,
/// since no driver supports that: start processes with `exec`.
///
/// Source: `cuCtxGetDevice` and `cuDeviceGetAttribute` (CUDA driver API), `hipGetDeviceProperties`
/// (HIP).
#[derive(Clone)]
pub struct Device(pub(super) Arc<Context>);

impl Device {
    /// Returns the first device for which each module of the pack has an image, in the order of the
    /// [module's table](super). The program's user can choose another device by its name, with the
    /// variable `OFFLOAD_DEVICE`.
    ///
    /// Returns an error that says for each device why no image fits, and which vendors' devices are
    /// absent.
    pub fn best_for<F: Form>(pack: &KernelPack<F>) -> Result<Self> {
        match asked_for() {
            // `named` does not load the drivers of other devices.
            Some(name) => Self::named(&name).map_err(|error| error.advice(NAMED)),
            None => found(&|vendor| concerns(pack, vendor)).best_for(pack),
        }
    }

    /// Returns the device of this name ([names](super)): `cuda:0`, `cpu`; `cuda` is `cuda:0`.
    /// Searches only for devices of this vendor, and does not load other drivers. A CPU with an
    /// OpenCL driver is a device only here, since packs have images for the CPU itself.
    ///
    /// Returns an error with the reason if there is no such device.
    pub fn named(name: &str) -> Result<Self> {
        let (vendor, ordinal) = parse(name)?;
        find(name, (vendor, ordinal), of_vendor(vendor, Some(ordinal)))
    }

    /// Returns this machine's CPU.
    pub fn cpu() -> Self {
        Self(cpu::device())
    }

    /// Returns the GPU of a CUDA context that another library has made, such as cudarc or cust.
    /// Buffers and streams of that context can be used with the returned device. For the primary
    /// context, which most libraries use, returns the same device as [`devices`].
    ///
    /// Returns an error if there is no driver, or if it does not know the context.
    ///
    /// # Safety
    /// `context` is a `CUcontext`, and lives as long as the device, its clones and its buffers are
    /// used. With a driver of CUDA 12 or later, device, clones and buffers may be dropped after the
    /// context was destroyed. An older driver cannot distinguish a context from a later one at the
    /// same address: drop device, clones and buffers before the context is destroyed.
    #[inline]
    pub unsafe fn from_cuda_context(context: *mut c_void) -> Result<Self> {
        // SAFETY: the caller guarantees that the context is valid.
        unsafe { cuda::foreign(context) }.map(Self)
    }

    /// Returns the AMD GPU of this number in HIP's list. HIP has one context for each GPU, which
    /// all libraries of a program share. Buffers and streams of other libraries can be used with
    /// the returned device.
    ///
    /// Returns an error if there is no runtime, or no such GPU.
    #[inline]
    pub fn from_hip_device(ordinal: i32) -> Result<Self> {
        Self::named(&format!("hip:{ordinal}"))
    }

    /// Returns the device's name for users and for `OFFLOAD_DEVICE`: `cuda:0`, `hip:1`, `cpu`.
    pub fn name(&self) -> String {
        format!("{}", self.0.id())
    }

    /// Returns the device's vendor, which names its driver ([`Vendor::driver`]).
    pub fn vendor(&self) -> Vendor {
        self.0.vendor
    }

    /// Returns the device's number among the devices of its vendor, from 0. Devices that
    /// `CUDA_VISIBLE_DEVICES` or `HIP_VISIBLE_DEVICES` hide are not counted.
    pub fn ordinal(&self) -> i32 {
        self.0.ordinal
    }

    /// Returns the product name that the driver reports; for the CPU, the system and the
    /// architecture.
    pub fn product(&self) -> &str {
        &self.0.product
    }

    /// Returns the properties of the device by which an image is selected for it.
    pub fn info(&self) -> &DeviceInfo {
        &self.0.info
    }

    /// Returns the size of a GPU's memory in bytes, or `None` for the CPU and if the driver does
    /// not report it.
    pub fn memory(&self) -> Option<u64> {
        self.0.memory
    }

    /// Waits for all work that was launched on the device.
    ///
    /// Returns an error if a kernel failed.
    #[inline]
    pub fn synchronize(&self) -> Result<()> {
        self.0.backend.synchronize().map_err(|error| error.on(|| self.to_string()))
    }
}

/// Prints the name and the product: `cuda:0 (NVIDIA H100 80GB HBM3)`. Line ends and invisible
/// characters of the product are escaped.
impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (", self.0.id())?;
        // The driver returns the name, which may contain any characters.
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

/// Returns the vendor and the number of the device of this name.
fn parse(name: &str) -> Result<(Vendor, i32)> {
    let (driver, ordinal) = name.split_once(':').unwrap_or((name, "0"));
    let vendor = Vendor::of_driver(driver);
    let ordinal = ordinal.parse::<u64>().ok().and_then(|ordinal| i32::try_from(ordinal).ok());
    vendor.zip(ordinal).ok_or_else(|| {
        RunError::refused(use_the_device(name), format!("expected a name such as {NAMES}"))
    })
}

/// Returns the device with this number from the devices of its vendor, or the reason why it is not
/// among them.
fn find(
    name: &str,
    (vendor, ordinal): (Vendor, i32),
    (found, others): (Vec<Device>, Option<String>),
) -> Result<Device> {
    let mut names = Vec::new();
    for device in found {
        if device.ordinal() == ordinal {
            return Ok(device);
        }
        names.push(device.name());
    }
    let why = others.unwrap_or_else(|| format!("this machine has {}", joined(&names, ", ")));
    Err(RunError::new(use_the_device(name), Cause::Absent(vendor, why)))
}

/// Returns the devices of this machine, in the order of the [module's table](super).
///
/// Each call searches for the libraries of the drivers, and lists the devices that the drivers
/// report. No driver is loaded when a program starts, and a missing driver does not end the
/// program.
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

/// Whether the choice of a device for a pack is about a vendor's devices. OpenCL's loader starts
/// the drivers of all vendors, so it is for packs with SPIR-V alone.
fn concerns<F: Form>(pack: &KernelPack<F>, vendor: Vendor) -> bool {
    vendor != Vendor::Intel || pack.images().any(|image| image.kind().vendor() == vendor)
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

/// A vendor whose devices this machine lacks, or of which some cannot be used.
#[derive(Debug, Clone)]
pub struct Absent {
    /// The vendor.
    pub vendor: Vendor,
    /// The reason: the driver's library was not found, the driver does not start, the driver finds
    /// no GPU, or what the named devices lack.
    pub why: String,
}

impl Devices {
    /// Returns the devices of this machine. The last device is the CPU.
    pub fn list(&self) -> &[Device] {
        &self.list
    }

    /// Returns the vendors whose devices this machine lacks, or of which some cannot be used.
    pub fn absent(&self) -> &[Absent] {
        &self.absent
    }

    /// Returns the first device for which each module of the pack has an image, or the device that
    /// `OFFLOAD_DEVICE` names, by the rules of [`Device::best_for`].
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
        // Equal GPUs are refused with the same text, which is printed once.
        refusals.dedup();
        let absent = self.absent.iter().filter(|absent| concerns(pack, absent.vendor));
        refusals.extend(absent.map(|absent| absent.why.clone()));
        let attempted = format!("find a device for the pack \"{}\"", pack.name());
        Err(RunError::refused(attempted, format!("no image fits\n{}", joined(&refusals, "\n"))))
    }

    /// Returns the device of this name from these devices; [`Device::named`] describes the names.
    fn named(&self, name: &str) -> Result<Device> {
        let (vendor, ordinal) = parse(name)?;
        let is_it = |it: &&Device| it.vendor() == vendor && it.ordinal() == ordinal;
        // Some devices are used only if a user names them.
        self.list.iter().find(is_it).cloned().map_or_else(|| Device::named(name), Ok)
    }
}

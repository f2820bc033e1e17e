//! Devices to select images for.

use super::VendorDevice;
use crate::target::{ImageCode, ParseError, product};
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

/// A device to select an image for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceInfo {
    pub(super) of_vendor: VendorDevice,
    /// The product's name, if the device was specified by product.
    product: Option<&'static str>,
}

/// A vendor's device in messages; `Display` prints its name. The selection rules are methods of the
/// vendors' types, not of this trait, so that they can be inlined.
pub(super) trait InMessages: fmt::Display {
    /// Returns a property missing from the device's name, such as `CUDA driver 12.8`.
    fn note(&self) -> Option<String> {
        None
    }

    /// Returns the targets that a build script can list for this device. Any one of them is enough.
    fn targets(&self) -> Vec<String>;

    /// If `image` is for a different mode of this device, returns the targets for this device that
    /// can be built together with `image`; otherwise returns `None`.
    fn targets_beside(&self, _image: ImageCode<'_>) -> Option<Vec<String>> {
        None
    }
}

/// The parts of the text that names a device.
pub(super) struct DeviceName<'a> {
    /// The whole text, such as `RTX 4090@driver12.4`.
    pub(super) text: &'a str,
    /// The text before the driver, such as `RTX 4090`.
    pub(super) name: &'a str,
    /// The target that the text names, directly or as a product, such as `sm_89`.
    pub(super) target: &'a str,
    /// The driver version, such as `12.4`.
    pub(super) driver: Option<&'a str>,
}

impl DeviceName<'_> {
    /// Returns an error at an offset in the text.
    pub(super) fn wrong(&self, at: usize, reason: &'static str) -> ParseError {
        ParseError::new(self.text, at, reason)
    }

    /// Returns the offset of the driver's version in the text.
    pub(super) fn driver_at(&self) -> usize {
        self.name.len() + BEFORE_DRIVER.len()
    }
}

/// The text between a device's name and the version of its driver.
const BEFORE_DRIVER: &str = "@driver";

const EXPECTED: &str = "not a device: expected a name such as gfx90a:sramecc+:xnack-, sm_90, sm_121@driver13.0, cpu, \
                        RTX 4090 or MI300X";

impl DeviceInfo {
    pub(super) fn new(of_vendor: VendorDevice) -> Self {
        Self { of_vendor, product: None }
    }

    /// Creates a device from text. The device need not exist on this machine.
    ///
    /// | text | device |
    /// |---|---|
    /// | `gfx90a:sramecc+:xnack-` | an AMD GPU with the name that runtimes report; it does not report features that the name omits |
    /// | `sm_90` | an NVIDIA GPU of this compute capability, with a driver that accepts all PTX |
    /// | `sm_121@driver13.0` | an NVIDIA GPU with a driver that supports CUDA 13.0 |
    /// | `spirv64` | a GPU whose OpenCL driver accepts all SPIR-V; `spirv64:float64-@driver1.2` is a GPU without `double` whose driver accepts SPIR-V up to 1.2 |
    /// | `cpu` | the CPU that this program runs on |
    /// | `RTX 4090`, `NVIDIA GeForce RTX 4090@driver12.4`, `MI300X`, `Strix Halo` | a product: [`product::find`] |
    ///
    /// A product's name does not determine the modes of an AMD GPU, so an image whose target names
    /// a feature (`gfx942:xnack-`) does not fit. If the modes matter, give the target ID.
    ///
    /// Returns an error for any other text.
    #[inline]
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        let (name, driver) = match text.split_once(BEFORE_DRIVER) {
            Some((name, version)) => (name, Some(version)),
            None => (text, None),
        };
        let product = product::find(name);
        let target = product.map_or(name, |product| product.target);
        let of_vendor = VendorDevice::parse(&DeviceName { text, name, target, driver })
            .unwrap_or_else(|| Err(ParseError::new(text, 0, EXPECTED)))?;
        Ok(Self { of_vendor, product: product.map(|product| product.name) })
    }
}

impl fmt::Display for DeviceInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let device = self.of_vendor.device();
        match (self.product, device.note()) {
            (None, None) => write!(f, "{device}"),
            (None, Some(note)) => write!(f, "{device} ({note})"),
            (Some(product), None) => write!(f, "{product} ({device})"),
            (Some(product), Some(note)) => write!(f, "{product} ({device}, {note})"),
        }
    }
}

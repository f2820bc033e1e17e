//! Devices, as their runtimes describe them.

use crate::target::{FeatureState, NvidiaArch, NvidiaCode, ParseError, TargetId, amdgpu, product};
use alloc::borrow::ToOwned;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

/// NVIDIA's number for a GPU's abilities: an H100 has 9.0.
///
/// The rules and their references are on the [module's page](super).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ComputeCapability {
    /// The number before the period.
    pub major: u32,
    /// The number after the period.
    pub minor: u32,
}

/// A device to select an image for.
///
/// The rules and their references are on the [module's page](super).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceInfo {
    pub(super) kind: DeviceKind,
    /// The product, if the device was given by its product name.
    product: Option<&'static str>,
}

/// The properties of a device that its vendor's rules compare.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum DeviceKind {
    Amd(AmdGpu),
    Nvidia { major: u32, minor: u32, driver: Option<u32> },
    Cpu,
}

/// An AMD GPU: the parts of its name, parsed once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct AmdGpu {
    name: String,
    /// The offset in the device's name where the name of the processor ends.
    processor_end: usize,
    /// The processor's primary name, if the runtime reports an alias.
    primary: Option<&'static str>,
    generic: Option<&'static str>,
    /// The states of the processor's features, as the device reports them.
    sramecc: FeatureState,
    xnack: FeatureState,
}

impl AmdGpu {
    fn new(name: &str, id: TargetId<'_>) -> Self {
        let processor = id.processor();
        let row = amdgpu::find(processor);
        Self {
            name: name.to_owned(),
            processor_end: processor.len(),
            primary: row.map(|row| row.name).filter(|primary| *primary != processor),
            generic: row.and_then(|row| row.generic),
            sramecc: id.feature("sramecc"),
            xnack: id.feature("xnack"),
        }
    }

    /// Returns the primary name of the processor.
    pub(super) fn processor(&self) -> &str {
        self.primary.unwrap_or(&self.name[..self.processor_end])
    }

    /// Whether `name` is the processor's name or an alias of it.
    #[inline(always)]
    pub(super) fn is_processor(&self, name: &str) -> bool {
        let primary = self.processor();
        name == primary
            || (!amdgpu::is_primary_name(name)
                && amdgpu::find(name).is_some_and(|row| row.name == primary))
    }

    /// Returns the generic target that covers the processor.
    pub(super) fn generic(&self) -> Option<&'static str> {
        self.generic
    }

    /// Returns the state of a feature that the device reports.
    pub(super) fn feature(&self, name: &str) -> FeatureState {
        match name {
            "sramecc" => self.sramecc,
            "xnack" => self.xnack,
            _ => TargetId::split(&self.name, self.processor_end).feature(name),
        }
    }
}

const EXPECTED: &str = "not a device: expected a name such as gfx90a:sramecc+:xnack-, sm_90, sm_121@driver13.0, cpu, \
                        RTX 4090 or MI300X";

impl DeviceInfo {
    fn new(kind: DeviceKind) -> Self {
        Self { kind, product: None }
    }

    /// Creates an NVIDIA GPU from its compute capability (the device attributes 75 and 76) and the
    /// result of `cuDriverGetVersion` (12080 for CUDA 12.8).
    ///
    /// ```
    /// use offload_format::select::{ComputeCapability, DeviceInfo};
    ///
    /// let h100 = DeviceInfo::cuda(ComputeCapability { major: 9, minor: 0 }, 12080);
    /// assert_eq!(h100, DeviceInfo::parse("sm_90@driver12.8")?);
    /// # Ok::<(), offload_format::target::ParseError>(())
    /// ```
    ///
    /// The compute capability has named fields because three plain numbers could be swapped:
    ///
    /// ```compile_fail
    /// offload_format::select::DeviceInfo::cuda(12080, 9, 0);
    /// ```
    pub fn cuda(capability: ComputeCapability, driver_version: u32) -> Self {
        let ComputeCapability { major, minor } = capability;
        Self::new(DeviceKind::Nvidia { major, minor, driver: Some(driver_version) })
    }

    /// Creates an AMD GPU from the name in `hipDeviceProp_t::gcnArchName`:
    /// `gfx90a:sramecc+:xnack-`.
    ///
    /// Returns an error if the name is not the target ID of one processor.
    pub fn hip(gcn_arch_name: &str) -> Result<Self, ParseError> {
        let id = TargetId::parse(gcn_arch_name)?;
        if !amdgpu::is_processor_name(id.processor()) || amdgpu::is_generic(id.processor()) {
            let reason = "not an AMD GPU: expected a name such as gfx90a:sramecc+:xnack-";
            return Err(ParseError::new(gcn_arch_name, 0, reason));
        }
        Ok(Self::new(DeviceKind::Amd(AmdGpu::new(gcn_arch_name, id))))
    }

    /// Returns the CPU that this program runs on.
    pub fn cpu() -> Self {
        Self::new(DeviceKind::Cpu)
    }

    /// Creates a device from text; the device need not exist on this machine:
    ///
    /// | text | device |
    /// |---|---|
    /// | `gfx90a:sramecc+:xnack-` | an AMD GPU as runtimes name it; a feature that is left out is one that it does not report |
    /// | `sm_90` | an NVIDIA GPU of this compute capability, with a driver that takes all PTX |
    /// | `sm_121@driver13.0` | the same with a driver that supports CUDA 13.0 |
    /// | `cpu` | the CPU that this program runs on |
    /// | `RTX 4090`, `NVIDIA GeForce RTX 4090@driver12.4`, `MI300X`, `Strix Halo` | a product: [`product::find`] |
    ///
    /// A product's name does not include the modes of an AMD GPU, so an image that names a feature
    /// (`gfx942:xnack-`) does not fit. If the modes matter, give the target ID.
    ///
    /// Returns an error for any other text.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        if text == "cpu" {
            return Ok(Self::cpu());
        }
        let stated = text
            .split_once('@')
            .and_then(|(name, rest)| Some((name, rest.strip_prefix("driver")?)));
        let (name, driver) = match stated {
            Some((name, version)) => (name, Some((name.len() + 7, version))),
            None => (text, None),
        };
        let named = product::find(name);
        let target = named.map_or(name, |product| product.target);
        let kind = if target.starts_with("sm_") {
            let arch = NvidiaArch::check(target)
                .map_err(|(at, reason)| ParseError::new(text, at, reason))?;
            if arch.suffix.is_some() {
                return Err(ParseError::new(
                    text,
                    name.len() - 1,
                    "a device has a compute capability without a letter",
                ));
            }
            let driver = driver.map(|(at, version)| {
                let wrong = || ParseError::new(text, at, "a driver is a CUDA version such as 12.8");
                driver_version(version).ok_or_else(wrong)
            });
            DeviceKind::Nvidia { major: arch.major, minor: arch.minor, driver: driver.transpose()? }
        } else if let (Some((at, _)), Ok(_)) = (driver, Self::hip(target)) {
            return Err(ParseError::new(
                text,
                at - 7,
                "an AMD GPU's name says nothing of a driver",
            ));
        } else {
            Self::hip(target).map_err(|_| ParseError::new(text, 0, EXPECTED))?.kind
        };
        Ok(Self { kind, product: named.map(|product| product.name) })
    }

    /// Returns the architecture of an NVIDIA GPU.
    pub(super) fn nvidia_arch(&self) -> Option<NvidiaArch> {
        let DeviceKind::Nvidia { major, minor, .. } = self.kind else { return None };
        Some(NvidiaArch { code: NvidiaCode::Cubin, major, minor, suffix: None })
    }

    /// Whether this is an AMD GPU with a processor of this name.
    pub(super) fn is_processor(&self, name: &str) -> bool {
        matches!(&self.kind, DeviceKind::Amd(device) if device.is_processor(name))
    }

    /// Returns a target for this device that can be built together with `image`, an image for
    /// another mode of the device's processor. The target names the features that `image` names, in
    /// the states that this device reports. Returns `None` if the device does not report the state
    /// of one of these features.
    pub(super) fn target_beside(&self, image: TargetId<'_>) -> Option<String> {
        let DeviceKind::Amd(device) = &self.kind else { return None };
        let mut target = String::from(device.processor());
        for (name, _) in image.features() {
            let sign = match device.feature(name) {
                FeatureState::Any => return None,
                FeatureState::On => "+",
                FeatureState::Off => "-",
            };
            target.extend([":", name, sign]);
        }
        Some(target)
    }

    /// Returns the targets that a build script can list for this device; an image for any one of
    /// them is enough.
    pub(super) fn targets(&self) -> Vec<String> {
        match &self.kind {
            DeviceKind::Amd(device) => vec![device.processor().to_owned()],
            DeviceKind::Nvidia { major, minor, driver } => {
                let cubin = NvidiaArch {
                    code: NvidiaCode::Cubin,
                    major: *major,
                    minor: *minor,
                    suffix: None,
                };
                let ptx = cubin.with_code(NvidiaCode::Ptx);
                // PTX of an unknown version is treated as too new for the driver, because it may
                // be.
                let is_too_new = |driver: u32| {
                    ptx.lowest_ptx().is_none_or(|version| version.first_driver() > driver)
                };
                match driver {
                    Some(driver) if is_too_new(*driver) => vec![cubin.to_string()],
                    _ => vec![cubin.to_string(), ptx.to_string()],
                }
            }
            DeviceKind::Cpu => vec!["cpu".to_owned()],
        }
    }
}

/// Returns 12080 for `12.8`, or `None` if the text is not a CUDA version. Each part has two digits
/// at most, because CUDA's own version numbers have no room for more.
fn driver_version(text: &str) -> Option<u32> {
    let (major, minor) = text.split_once('.').unwrap_or((text, "0"));
    let number = |text: &str| match text.len() {
        1..=2 if text.bytes().all(|byte| byte.is_ascii_digit()) => text.parse::<u32>().ok(),
        _ => None,
    };
    Some(number(major)? * 1000 + number(minor)? * 10)
}

impl fmt::Display for DeviceInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(product) = self.product {
            write!(f, "{product} (")?;
        }
        match &self.kind {
            DeviceKind::Amd(device) => f.write_str(&device.name)?,
            DeviceKind::Nvidia { major, minor, .. } => write!(f, "sm_{major}{minor}")?,
            DeviceKind::Cpu => f.write_str("the CPU")?,
        }
        match (&self.kind, self.product) {
            (DeviceKind::Nvidia { driver: Some(driver), .. }, Some(_)) => {
                write!(f, ", CUDA driver {})", driver_text(*driver))
            }
            (DeviceKind::Nvidia { driver: Some(driver), .. }, None) => {
                write!(f, " (CUDA driver {})", driver_text(*driver))
            }
            (_, Some(_)) => f.write_str(")"),
            (_, None) => Ok(()),
        }
    }
}

/// Returns the CUDA version as text: `12.8` for 12080.
pub(super) fn driver_text(version: u32) -> String {
    alloc::format!("{}.{}", version / 1000, version % 1000 / 10)
}

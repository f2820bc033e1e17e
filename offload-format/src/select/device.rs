//! Devices as their runtimes report them.

use crate::target::{FeatureState, NvidiaArch, NvidiaCode, ParseError, TargetId, amdgpu};
use alloc::borrow::ToOwned;
use alloc::string::String;
use core::fmt;

/// A device to select an image for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Device(pub(super) Inner);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Inner {
    Hip(String),
    Cuda { major: u32, minor: u32, driver: Option<u32> },
    Cpu,
}

impl Device {
    /// An NVIDIA GPU: its compute capability (the device attributes 75 and 76), and what `cuDriverGetVersion` says
    /// (12080 for CUDA 12.8).
    pub fn cuda(major: u32, minor: u32, driver_version: u32) -> Self {
        Self(Inner::Cuda { major, minor, driver: Some(driver_version) })
    }

    /// An AMD GPU, as `hipDeviceProp_t::gcnArchName` names it: `gfx90a:sramecc+:xnack-`.
    ///
    /// Returns an error if that is no target ID of one processor.
    pub fn hip(gcn_arch_name: &str) -> Result<Self, ParseError> {
        let processor = TargetId::parse(gcn_arch_name)?.processor();
        if !amdgpu::is_processor_name(processor) || amdgpu::is_generic(processor) {
            return Err(ParseError::new(
                gcn_arch_name,
                0,
                "not an AMD GPU: expected a name such as gfx90a:sramecc+:xnack-",
            ));
        }
        Ok(Self(Inner::Hip(gcn_arch_name.to_owned())))
    }

    /// The CPU that this program runs on.
    pub fn cpu() -> Self {
        Self(Inner::Cpu)
    }

    /// A device that need not be there: `gfx90a:xnack-`, `sm_90`, `sm_121@driver13.0` (the CUDA version that the driver
    /// supports; without it, any), `cpu`.
    ///
    /// Returns an error for anything else.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        if text == "cpu" {
            return Ok(Self::cpu());
        }
        if !text.starts_with("sm_") {
            return Self::hip(text).map_err(|_| {
                let reason =
                    "not a device: expected a name such as gfx90a:sramecc+:xnack-, sm_90, sm_121@driver13.0 or cpu";
                ParseError::new(text, 0, reason)
            });
        }
        let (name, driver) = match text.split_once("@driver") {
            Some((name, version)) => (name, Some(version)),
            None => (text, None),
        };
        let arch = NvidiaArch::parse(name)?;
        if arch.suffix.is_some() {
            return Err(ParseError::new(text, name.len() - 1, "a device has a compute capability without a letter"));
        }
        let driver = match driver.map(|version| version.split_once('.').unwrap_or((version, "0"))) {
            None => None,
            Some((major, minor)) => {
                // Two digits at most: CUDA's own numbers have room for no more.
                let number = |text: &str| match text.len() {
                    1..=2 if text.bytes().all(|byte| byte.is_ascii_digit()) => text.parse::<u32>().ok(),
                    _ => None,
                };
                let number = number(major).zip(number(minor)).map(|(major, minor)| major * 1000 + minor * 10);
                let wrong = || ParseError::new(text, name.len() + 7, "a driver is a CUDA version such as 12.8");
                Some(number.ok_or_else(wrong)?)
            }
        };
        Ok(Self(Inner::Cuda { major: arch.major, minor: arch.minor, driver }))
    }

    /// The same where there is an image for this processor in another mode. `None` if the device does not report a feature
    /// that the image names: then there is nothing that could stand beside it.
    pub(super) fn suggestion_beside(&self, image: TargetId<'_>) -> Option<String> {
        let Inner::Hip(name) = &self.0 else { return None };
        let device = TargetId::parse(name).ok()?;
        let mut target = String::from(image.primary_processor());
        for (name, _) in image.features() {
            let sign = match device.feature(name) {
                FeatureState::Any => return None,
                FeatureState::On => "+",
                FeatureState::Off => "-",
            };
            target.extend([":", name, sign]);
        }
        Some(alloc::format!("\"{target}\""))
    }

    /// The target that a build script would list for this device.
    pub(super) fn suggestion(&self) -> String {
        match &self.0 {
            Inner::Hip(name) => alloc::format!("{:?}", name.split(':').next().unwrap_or(name)),
            Inner::Cuda { major, minor, .. } => {
                let arch = NvidiaArch { code: NvidiaCode::Cubin, major: *major, minor: *minor, suffix: None };
                alloc::format!("\"{arch}\" or \"{}\"", arch.with_code(NvidiaCode::Ptx))
            }
            Inner::Cpu => "\"cpu\"".to_owned(),
        }
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Inner::Hip(name) => f.write_str(name),
            Inner::Cuda { major, minor, driver } => {
                write!(f, "sm_{major}{minor}")?;
                match driver {
                    Some(driver) => write!(f, " (CUDA driver {})", driver_text(*driver)),
                    None => Ok(()),
                }
            }
            Inner::Cpu => f.write_str("the CPU"),
        }
    }
}

/// `12.8` for 12080.
pub(super) fn driver_text(version: u32) -> String {
    alloc::format!("{}.{}", version / 1000, version % 1000 / 10)
}

//! NVIDIA's GPUs, and the rules for images that run on them.

use super::device::{DeviceName, InMessages};
use super::fit::driver_text;
use super::{DeviceInfo, Fit, Refusal, VendorDevice};
use crate::target::{
    ImageCode, Needs, NvidiaArch, NvidiaCode, NvidiaSuffix, ParseError, PtxVersion,
};
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

/// NVIDIA's version number for a GPU's features, such as 9.0 for an H100.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ComputeCapability {
    /// The number before the period.
    pub major: u32,
    /// The number after the period.
    pub minor: u32,
}

/// An NVIDIA GPU.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NvidiaGpu {
    major: u32,
    minor: u32,
    /// The driver's version, from `cuDriverGetVersion`; `None` for a driver that accepts all PTX.
    driver: Option<u32>,
}

impl NvidiaGpu {
    /// Reads an NVIDIA device; returns `None` if the text does not name one.
    #[inline]
    pub(super) fn parse(named: &DeviceName<'_>) -> Option<Result<Self, ParseError>> {
        named.target.starts_with("sm_").then(|| Self::of_target(named))
    }

    #[inline]
    fn of_target(named: &DeviceName<'_>) -> Result<Self, ParseError> {
        let NvidiaArch { major, minor, suffix, .. } =
            NvidiaArch::check(named.target).map_err(|(at, reason)| named.wrong(at, reason))?;
        if suffix.is_some() {
            let reason = "expected a device's compute capability without a letter";
            return Err(named.wrong(named.name.len() - 1, reason));
        }
        let wrong =
            || named.wrong(named.driver_at(), "expected a driver's CUDA version such as 12.8");
        let driver = named.driver.map(|version| driver_version(version).ok_or_else(wrong));
        Ok(Self { major, minor, driver: driver.transpose()? })
    }

    fn arch(&self) -> NvidiaArch {
        let (major, minor) = (self.major, self.minor);
        NvidiaArch { code: NvidiaCode::Cubin, major, minor, suffix: None }
    }

    #[inline(always)]
    pub(super) fn judge<'a, S: From<&'a str>>(
        &self,
        code: ImageCode<'a>,
    ) -> Result<Fit, Refusal<S>> {
        match code {
            ImageCode::Cubin(arch) => judge_cubin(arch, self.major, self.minor),
            ImageCode::Ptx { arch, version } => {
                judge_ptx(arch, version, self.major, self.minor, self.driver)
            }
            other => Err(Refusal::of(other)),
        }
    }

    /// Whether the driver loads an image with these needs.
    #[inline]
    pub(super) fn loads(&self, needs: Needs) -> bool {
        self.driver.is_none_or(|driver| driver >= needs.cuda())
    }
}

impl InMessages for NvidiaGpu {
    fn note(&self) -> Option<String> {
        self.driver.map(|driver| alloc::format!("CUDA driver {}", driver_text(driver)))
    }

    fn targets(&self) -> Vec<String> {
        let cubin = self.arch();
        let ptx = cubin.with_code(NvidiaCode::Ptx);
        // Treat PTX of an unknown version as too new.
        let is_too_new =
            |driver: u32| ptx.lowest_ptx().is_none_or(|version| version.first_driver() > driver);
        match self.driver {
            Some(driver) if is_too_new(driver) => vec![cubin.to_string()],
            _ => vec![cubin.to_string(), ptx.to_string()],
        }
    }
}

impl fmt::Display for NvidiaGpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sm_{}{}", self.major, self.minor)
    }
}

impl DeviceInfo {
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
    /// The compute capability has named fields, because three plain numbers could be swapped by
    /// mistake:
    ///
    /// ```compile_fail
    /// offload_format::select::DeviceInfo::cuda(12080, 9, 0);
    /// ```
    pub fn cuda(capability: ComputeCapability, driver_version: u32) -> Self {
        let ComputeCapability { major, minor } = capability;
        Self::new(VendorDevice::Nvidia(NvidiaGpu { major, minor, driver: Some(driver_version) }))
    }

    /// Whether this is an NVIDIA GPU with a known driver. [`Needs::toolkit`] matters only for such
    /// devices.
    #[inline]
    pub fn has_driver(&self) -> bool {
        matches!(&self.of_vendor, VendorDevice::Nvidia(gpu) if gpu.driver.is_some())
    }
}

impl Fit {
    /// Returns the minimum CUDA driver that loads an image with this fit and these needs on this
    /// device, in the format of `cuDriverGetVersion`. The device, the PTX version and the needs may
    /// each set a minimum, and the highest is returned. For AMD's GPUs, returns the minimum ROCm
    /// version in the same format, although a new GPU may need a newer one. Returns `None` if no
    /// version is known, and for other vendors.
    ///
    /// ```
    /// use offload_format::select::{DeviceInfo, Fit};
    /// use offload_format::target::{Form, Needs, NvidiaArch, PtxVersion};
    ///
    /// let fit = Fit::Ptx { arch: NvidiaArch::parse("compute_80")?, version: Some(PtxVersion::new(7, 8)) };
    /// let (plain, zstd) = (Needs::default(), Needs { form: Form::ZstdInFatbin, ..Needs::default() });
    /// assert_eq!(fit.least_driver(&DeviceInfo::parse("sm_86")?, plain), Some(11080));
    /// assert_eq!(fit.least_driver(&DeviceInfo::parse("sm_86")?, zstd), Some(12040));
    /// assert_eq!(fit.least_driver(&DeviceInfo::parse("sm_120")?, zstd), Some(12080));
    ///
    /// let fit = Fit::Processor { features: 0, version: Some(6) };
    /// let packed = Needs { form: Form::CompressedBundle(3), ..Needs::default() };
    /// assert_eq!(fit.least_driver(&DeviceInfo::parse("gfx1100")?, plain), Some(6030));
    /// assert_eq!(fit.least_driver(&DeviceInfo::parse("gfx1100")?, packed), Some(7000));
    /// # Ok::<(), offload_format::target::ParseError>(())
    /// ```
    #[inline]
    pub fn least_driver(&self, device: &DeviceInfo, needs: Needs) -> Option<u32> {
        let of_fit = match &device.of_vendor {
            VendorDevice::Nvidia(gpu) => {
                let of_code = match self {
                    Fit::Ptx { version, .. } => version.as_ref()?.first_driver(),
                    _ => 0,
                };
                of_code.max(gpu.arch().first_driver().unwrap_or(0)).max(needs.cuda())
            }
            VendorDevice::Amd(_) => self.least_rocm().max(needs.rocm()),
            _ => 0,
        };
        (1..u32::MAX).contains(&of_fit).then_some(of_fit)
    }
}

#[inline(always)]
fn judge_cubin<S>(arch: NvidiaArch, major: u32, minor: u32) -> Result<Fit, Refusal<S>> {
    check_suffix(arch, major, minor)?;
    if arch.suffix.is_some() || arch.is_own_of(major, minor) {
        Ok(Fit::Cubin(arch))
    } else if arch.major != major {
        Err(Refusal::OtherMajor(arch))
    } else if arch.minor > minor {
        Err(Refusal::ComputeCapabilityTooHigh(arch))
    } else if arch.is_across_tegra(major, minor) {
        Err(Refusal::AcrossTegra(arch))
    } else {
        Ok(Fit::Cubin(arch))
    }
}

#[inline(always)]
fn judge_ptx<S>(
    arch: NvidiaArch,
    version: Option<PtxVersion>,
    major: u32,
    minor: u32,
    driver: Option<u32>,
) -> Result<Fit, Refusal<S>> {
    check_suffix(arch, major, minor)?;
    if (arch.major, arch.minor) > (major, minor) && arch.suffix.is_none() {
        return Err(Refusal::ComputeCapabilityTooHigh(arch));
    }
    match (version, driver) {
        (Some(version), Some(driver)) if version.first_driver() > driver => {
            Err(Refusal::PtxTooNew { version, driver })
        }
        _ => Ok(Fit::Ptx { arch, version }),
    }
}

/// Checks whether an image with the suffix `a` or `f` may run on the device. The rule is the same
/// for machine code and PTX.
#[inline(always)]
fn check_suffix<S>(arch: NvidiaArch, major: u32, minor: u32) -> Result<(), Refusal<S>> {
    let runs = match arch.suffix {
        None => true,
        Some(NvidiaSuffix::ArchSpecific) => arch.is_own_of(major, minor),
        Some(NvidiaSuffix::FamilySpecific) => arch.family_has(major, minor),
    };
    if runs { Ok(()) } else { Err(Refusal::OtherSpecific(arch)) }
}

/// Converts a CUDA version such as `12.8` to a number such as 12080. Returns `None` if the text is
/// not a CUDA version. Each part has at most two digits, as in CUDA's own version numbers.
#[inline]
fn driver_version(text: &str) -> Option<u32> {
    let (major, minor) = text.split_once('.').unwrap_or((text, "0"));
    let number = |text: &str| match text.len() {
        1..=2 if text.bytes().all(|byte| byte.is_ascii_digit()) => text.parse::<u32>().ok(),
        _ => None,
    };
    Some(number(major)? * 1000 + number(minor)? * 10)
}

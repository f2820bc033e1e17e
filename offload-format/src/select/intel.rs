//! GPUs whose drivers compile SPIR-V, and their rule: a driver takes SPIR-V up to a version.

use super::device::{DeviceName, InMessages};
use super::fit::Unfit;
use super::{DeviceInfo, Fit, Refusal, VendorDevice};
use crate::target::{ImageCode, IntelArch, ParseError, SpirvVersion};
use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

/// A GPU with an OpenCL driver that compiles SPIR-V.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct IntelGpu {
    /// The newest version of SPIR-V that the driver takes; `None` for one that takes all.
    spirv: Option<SpirvVersion>,
}

impl IntelGpu {
    /// Reads a device of Intel; returns `None` if the text names none.
    pub(super) fn parse(named: &DeviceName<'_>) -> Option<Result<Self, ParseError>> {
        (named.target == IntelArch::Spirv64.name()).then(|| {
            let wrong =
                || named.wrong(named.driver_at(), "a driver is a SPIR-V version such as 1.4");
            let spirv = named.driver.map(|text| SpirvVersion::parse(text).ok_or_else(wrong));
            Ok(Self { spirv: spirv.transpose()? })
        })
    }

    #[inline(always)]
    pub(super) fn judge<'a>(&self, code: ImageCode<'a>) -> Result<Fit, Unfit<'a>> {
        match code {
            ImageCode::SpirV { version } => match (version, self.spirv) {
                (Some(version), Some(driver)) if version > driver => {
                    Err(Refusal::SpirvTooNew { version, driver })
                }
                _ => Ok(Fit::SpirV),
            },
            other => Err(Unfit::of(other)),
        }
    }
}

impl InMessages for IntelGpu {
    fn note(&self) -> Option<String> {
        self.spirv.map(|version| alloc::format!("SPIR-V up to {version}"))
    }

    fn targets(&self) -> Vec<String> {
        vec![IntelArch::Spirv64.name().to_owned()]
    }
}

impl fmt::Display for IntelGpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        IntelArch::Spirv64.fmt(f)
    }
}

impl DeviceInfo {
    /// Creates a GPU from the newest version of SPIR-V that its OpenCL driver takes
    /// (`CL_DEVICE_IL_VERSION`).
    ///
    /// ```
    /// use offload_format::{DeviceInfo, target::SpirvVersion};
    ///
    /// let gpu = DeviceInfo::opencl(SpirvVersion { major: 1, minor: 4 });
    /// assert_eq!(gpu, DeviceInfo::parse("spirv64@driver1.4")?);
    /// # Ok::<(), offload_format::target::ParseError>(())
    /// ```
    pub fn opencl(newest: SpirvVersion) -> Self {
        Self::new(VendorDevice::Intel(IntelGpu { spirv: Some(newest) }))
    }
}

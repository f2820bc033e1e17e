//! GPUs whose drivers compile SPIR-V, and the rules for images: the driver must accept the SPIR-V
//! version, and the device must have the features that the module needs.

use super::device::{DeviceName, InMessages};
use super::{DeviceInfo, Fit, Refusal, VendorDevice};
use crate::target::{ImageCode, IntelArch, ParseError, SpirvFeatures, SpirvVersion};
use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

/// A GPU with an OpenCL driver that compiles SPIR-V.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct IntelGpu {
    /// The newest SPIR-V version that the driver accepts; `None` if it accepts all.
    spirv: Option<SpirvVersion>,
    has: SpirvFeatures,
}

impl IntelGpu {
    /// Reads an Intel device; returns `None` if the text does not name one.
    #[inline]
    pub(super) fn parse(named: &DeviceName<'_>) -> Option<Result<Self, ParseError>> {
        let mut parts = named.target.split(':');
        (parts.next() == Some(IntelArch::Spirv64.name())).then(|| {
            let wrong =
                || named.wrong(named.driver_at(), "expected a driver's SPIR-V version such as 1.4");
            let spirv = named.driver.map(|text| SpirvVersion::parse(text).ok_or_else(wrong));
            let mut has = SpirvFeatures::ALL;
            for part in parts {
                let lacks = part.strip_suffix('-').and_then(SpirvFeatures::named);
                let wrong =
                    || named.wrong(0, "expected missing features, each with '-', such as float64-");
                has = has.without(lacks.ok_or_else(wrong)?);
            }
            Ok(Self { spirv: spirv.transpose()?, has })
        })
    }

    #[inline(always)]
    pub(super) fn judge<'a, S: From<&'a str>>(
        &self,
        code: ImageCode<'a>,
    ) -> Result<Fit, Refusal<S>> {
        match code {
            ImageCode::SpirV { version, needs } => match (version, self.spirv) {
                (Some(version), Some(driver)) if version > driver => {
                    Err(Refusal::SpirvTooNew { version, driver })
                }
                _ => match needs.without(self.has) {
                    lacking if lacking.is_empty() => Ok(Fit::SpirV),
                    lacking => Err(Refusal::SpirvNeeds(lacking)),
                },
            },
            ImageCode::Intel(arch) => Err(Refusal::NoSpirv(arch)),
            other => Err(Refusal::of(other)),
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
        f.write_str(IntelArch::Spirv64.name())?;
        SpirvFeatures::ALL.without(self.has).write_lacking(f)
    }
}

impl DeviceInfo {
    /// Creates a GPU from the newest version of SPIR-V that its OpenCL driver accepts
    /// (`CL_DEVICE_IL_VERSION`), and its features (`CL_DEVICE_EXTENSIONS`).
    ///
    /// ```
    /// use offload_format::DeviceInfo;
    /// use offload_format::target::{SpirvFeatures, SpirvVersion};
    ///
    /// let version = SpirvVersion { major: 1, minor: 4 };
    /// let has = SpirvFeatures::of_extensions("cl_khr_fp16 cl_khr_fp64");
    /// assert!(DeviceInfo::opencl(version, has).to_string().starts_with("spirv64"));
    /// ```
    pub fn opencl(newest: SpirvVersion, has: SpirvFeatures) -> Self {
        Self::new(VendorDevice::Intel(IntelGpu { spirv: Some(newest), has }))
    }
}

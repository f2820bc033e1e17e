//! AMD's GPUs, and the rules for images that fit them.

use super::device::{DeviceName, InMessages};
use super::{DeviceInfo, Fit, Refusal, VendorDevice};
use crate::target::{FeatureState, ImageCode, ParseError, TargetId, amdgpu};
use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

/// The parts of an AMD GPU's name, parsed once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct AmdGpu {
    name: String,
    /// The offset in `name` where the processor ends.
    processor_end: usize,
    /// The processor's primary name, if the runtime reports an alias.
    primary: Option<&'static str>,
    generic: Option<&'static str>,
    /// The feature states that the device reports.
    sramecc: FeatureState,
    xnack: FeatureState,
}

impl Fit {
    /// Returns the first version of ROCm whose HIP runtime loads code with this fit, such as 6030
    /// for 6.3. Returns 0 if the code object version is unknown or lower than 5.
    ///
    /// The sources are the runtime's list of code object versions, which ends with 5 in ROCm 6.2
    /// (`hip_code_object.cpp`), and ROCm's own libraries, which have used generic targets since
    /// 6.4.
    #[inline]
    pub(super) fn least_rocm(&self) -> u32 {
        match self {
            Fit::GenericTarget { .. } => 6040,
            Fit::Processor { version: Some(6), .. } => 6030,
            Fit::Processor { version: Some(5), .. } => 5050,
            _ => 0,
        }
    }
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

    fn processor(&self) -> &str {
        self.primary.unwrap_or(&self.name[..self.processor_end])
    }

    #[inline(always)]
    fn is_processor(&self, name: &str) -> bool {
        let primary = self.processor();
        name == primary
            || (!amdgpu::is_primary_name(name)
                && amdgpu::find(name).is_some_and(|row| row.name == primary))
    }

    fn feature(&self, name: &str) -> FeatureState {
        match name {
            "sramecc" => self.sramecc,
            "xnack" => self.xnack,
            _ => TargetId::split(&self.name, self.processor_end).feature(name),
        }
    }

    /// Reads an AMD device; returns `None` if the text does not name one.
    #[inline]
    pub(super) fn parse(named: &DeviceName<'_>) -> Option<Result<Self, ParseError>> {
        let device = Self::of_runtime(named.target).ok()?;
        Some(match named.driver {
            Some(_) => {
                Err(named
                    .wrong(named.name.len(), "an AMD GPU's name cannot contain a driver version"))
            }
            None => Ok(device),
        })
    }

    /// Reads the name that a runtime reports.
    fn of_runtime(name: &str) -> Result<Self, ParseError> {
        let id = TargetId::parse(name)?;
        if !amdgpu::is_processor_name(id.processor()) || amdgpu::is_generic(id.processor()) {
            let reason = "not an AMD GPU: expected a name such as gfx90a:sramecc+:xnack-";
            return Err(ParseError::new(name, 0, reason));
        }
        Ok(Self::new(name, id))
    }

    #[inline(always)]
    pub(super) fn judge<'a, S: From<&'a str>>(
        &self,
        code: ImageCode<'a>,
    ) -> Result<Fit, Refusal<S>> {
        let (image, version) = match code {
            ImageCode::Amdgpu { id, version } => (id, version),
            ImageCode::UnknownProcessor(number) => return Err(Refusal::UnknownProcessor(number)),
            _ => return Err(Refusal::of(code)),
        };
        let processor = image.processor();
        let same = self.is_processor(processor);
        if !same && processor == amdgpu::SPIRV {
            return Ok(Fit::SpirV);
        }
        if !same && self.generic != Some(processor) {
            let generic = amdgpu::is_generic(processor);
            return Err(if generic { Refusal::OtherFamily } else { Refusal::OtherProcessor });
        }
        if let Some(version @ ..amdgpu::FIRST_GENERIC_VERSION) = version
            && !same
        {
            return Err(Refusal::GenericBeforeVersion6 { version });
        }
        let mut features = 0;
        for (name, image) in image.features() {
            let device = self.feature(name);
            if device != image {
                return Err(Refusal::Feature { name: name.into(), image, device });
            }
            features += 1;
        }
        Ok(if same {
            Fit::Processor { features, version }
        } else {
            Fit::GenericTarget { features, version }
        })
    }
}

impl InMessages for AmdGpu {
    fn targets(&self) -> Vec<String> {
        vec![self.processor().to_owned()]
    }

    /// The list holds a single target, with the features that `image` names in the states that this
    /// device reports. If the device does not report one of them, the list is empty.
    fn targets_beside(&self, image: ImageCode<'_>) -> Option<Vec<String>> {
        let id = image.target_id().filter(|id| self.is_processor(id.processor()))?;
        let mut target = String::from(self.processor());
        for (name, _) in id.features() {
            let sign = match self.feature(name) {
                FeatureState::Any => return Some(Vec::new()),
                FeatureState::On => "+",
                FeatureState::Off => "-",
            };
            target.extend([":", name, sign]);
        }
        Some(vec![target])
    }
}

impl fmt::Display for AmdGpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

impl DeviceInfo {
    /// Creates an AMD GPU from the name in `hipDeviceProp_t::gcnArchName`, such as
    /// `gfx90a:sramecc+:xnack-`.
    ///
    /// Returns an error if the name is not the target ID of a single processor.
    pub fn hip(gcn_arch_name: &str) -> Result<Self, ParseError> {
        AmdGpu::of_runtime(gcn_arch_name).map(|device| Self::new(VendorDevice::Amd(device)))
    }
}

//! The rules that decide whether an image fits an AMD GPU.

use super::device::AmdGpu;
use super::fit::Unfit;
use super::{Fit, Refusal};
use crate::target::{TargetId, amdgpu};

#[inline(always)]
pub(super) fn judge<'a>(
    image: TargetId<'a>,
    version: Option<u32>,
    device: &AmdGpu,
) -> Result<Fit, Unfit<'a>> {
    let processor = image.processor();
    let same = device.is_processor(processor);
    if !same && processor == amdgpu::SPIRV {
        return Ok(Fit::SpirV);
    }
    if !same && device.generic() != Some(processor) {
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
        let device = device.feature(name);
        if device != image {
            return Err(Refusal::Feature { name, image, device });
        }
        features += 1;
    }
    Ok(if same {
        Fit::Processor { features, version }
    } else {
        Fit::GenericTarget { features, version }
    })
}

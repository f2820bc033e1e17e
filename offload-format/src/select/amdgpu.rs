//! AMD's rules.

use super::{Fit, Refusal};
use crate::target::{TargetId, amdgpu};

pub(super) fn judge(image: TargetId<'_>, version: Option<u32>, device: &str) -> Result<Fit, Refusal> {
    if image.processor() == amdgpu::SPIRV {
        return Ok(Fit::SpirV);
    }
    let Ok(device) = TargetId::parse(device) else {
        return Err(Refusal::NotUnderstood);
    };
    let same = image.primary_processor() == device.primary_processor();
    if !same {
        let generic = amdgpu::find(device.processor()).and_then(|row| row.generic);
        if generic != Some(image.processor()) {
            return Err(Refusal::OtherProcessor);
        }
        if let Some(version @ ..amdgpu::FIRST_GENERIC_VERSION) = version {
            return Err(Refusal::GenericBeforeVersion6 { version });
        }
    }
    for (name, state) in image.features() {
        let found = device.feature(name);
        if found != state {
            return Err(Refusal::Feature { name: name.into(), image: state, device: found });
        }
    }
    let features = image.features().count();
    Ok(if same { Fit::Processor { features } } else { Fit::GenericTarget { features } })
}

//! The rules that decide whether an image runs on an NVIDIA GPU.

use super::fit::Unfit;
use super::{Fit, Refusal};
use crate::target::{NvidiaArch, NvidiaSuffix, PtxVersion};

#[inline(always)]
pub(super) fn judge_cubin<'a>(arch: NvidiaArch, major: u32, minor: u32) -> Result<Fit, Unfit<'a>> {
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
pub(super) fn judge_ptx<'a>(
    arch: NvidiaArch,
    version: Option<PtxVersion>,
    major: u32,
    minor: u32,
    driver: Option<u32>,
) -> Result<Fit, Unfit<'a>> {
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

/// Checks whether the suffix `a` or `f` allows the device; for such names, machine code and PTX
/// follow the same rule.
#[inline(always)]
fn check_suffix<'a>(arch: NvidiaArch, major: u32, minor: u32) -> Result<(), Unfit<'a>> {
    let runs = match arch.suffix {
        None => true,
        Some(NvidiaSuffix::ArchSpecific) => arch.is_own_of(major, minor),
        Some(NvidiaSuffix::FamilySpecific) => arch.family_has(major, minor),
    };
    if runs { Ok(()) } else { Err(Refusal::OtherSpecific(arch)) }
}

//! The ELF header of an AMD code object.
//!
//! `e_flags` (AMDGPUUsage, "ELF Header"; checked on files of LLVM 14 and 22.1.8 and with comgr
//! 2.4):
//!
//! | version | processor | xnack | sramecc | version of a generic target |
//! |---|---|---|---|---|
//! | 2 | in a note | | | |
//! | 3 | bits 0-7 | bit 8: 1 on, 0 off | bit 9: 1 on, 0 off | |
//! | from 4 on | bits 0-7 | bits 8-9: 0 not supported, 1 any, 2 off, 3 on | bits 10-11 the same | bits 24-31 |
//!
//! Version 3 has no value for "any"; its 0 means that the feature is off or that the processor
//! lacks it. If the processor's target IDs cannot name a feature, the feature's bits have no
//! meaning. For XNACK on gfx1250, LLVM 22 writes 1, and LLVM's main branch has written 3 since
//! September 2026, but ROCm's loaders and comgr omit XNACK from the target ID (rocm-systems, pull
//! request 11904).

mod kernels;
mod loader;

pub(super) use kernels::{CodeObjectKernels, MetadataArguments};

use super::elf::ElfHeader;
use crate::target::{ImageCode, TargetId, amdgpu};
use crate::{Error, ErrorKind, Result};

pub(super) const EM_AMDGPU: u16 = 224;
const ELFOSABI_AMDGPU_HSA: u8 = 64;

/// The code object version whose header has no value for "any": an unspecified feature looks like
/// one that is off.
const WITHOUT_ANY: u32 = 3;

/// The ELF header of an AMD code object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CodeObjectHeader {
    /// The code object version: LLVM 22 and older write 2 to 6.
    pub version: u32,
    flags: u32,
}

impl CodeObjectHeader {
    /// Reads the header at the start of `data`.
    ///
    /// Returns an error unless this is a 64-bit little-endian ELF file for AMD GPUs.
    pub fn parse(data: &[u8]) -> Result<Self> {
        let elf = ElfHeader::parse(data)?;
        if elf.machine != EM_AMDGPU {
            return Err(Error::new(ErrorKind::Malformed, "ELF machine (AMD GPU code has 224)", 18));
        }
        if elf.os_abi != ELFOSABI_AMDGPU_HSA {
            return Err(Error::new(
                ErrorKind::Malformed,
                "ELF OS/ABI (code for AMD's HSA runtime has 64)",
                7,
            ));
        }
        // EI_ABIVERSION is 0 for version 2.
        Ok(Self { version: u32::from(elf.abi_version) + 2, flags: elf.flags })
    }

    /// Returns the version of the generic target; 0 if the code is for one processor.
    pub fn generic_version(&self) -> u32 {
        self.flags >> 24
    }

    /// Returns the canonical target ID that the flags describe. Returns `None` for an unknown
    /// processor, or for a version whose flags may have a different meaning.
    pub fn target_id(&self) -> Option<TargetId<'static>> {
        let processor = amdgpu::find_mach(self.flags as u8)?;
        // The bits of sramecc and xnack, and the values that mean off and on.
        let (bits, off, on) = match self.version {
            3 => ([("sramecc", self.flags >> 9 & 1), ("xnack", self.flags >> 8 & 1)], 0, 1),
            4..=6 => ([("sramecc", self.flags >> 10 & 3), ("xnack", self.flags >> 8 & 3)], 2, 3),
            _ => return None,
        };
        // LLVM's main branch sets XNACK to on for gfx1250, although gfx1250's target IDs cannot
        // name XNACK. In version 3, off can also mean that the processor lacks the feature.
        let [sramecc, xnack] = bits.map(|(name, state)| match state {
            _ if !processor.features.contains(&name) => 0,
            _ if state == on => 2,
            _ if state == off => 1,
            _ => 0,
        });
        Some(TargetId::of_parts(processor.name, FEATURES[sramecc][xnack]))
    }
}

impl CodeObjectHeader {
    /// Returns the code of an image. `named` is the code according to the image's names.
    #[inline]
    pub(super) fn code<'a>(&self, named: ImageCode<'a>) -> ImageCode<'a> {
        let id = match (self.target_id(), named.target_id()) {
            (Some(id), Some(name)) if self.version == WITHOUT_ANY && is_same(&id, &name) => name,
            (Some(id), _) | (None, Some(id)) => id,
            (None, None) if self.version < WITHOUT_ANY => return ImageCode::Other,
            (None, None) => return ImageCode::UnknownProcessor(self.flags as u8),
        };
        ImageCode::Amdgpu { id, version: Some(self.version) }
    }

    /// Whether the names claim a device that the image does not run on.
    #[inline]
    pub(super) fn contradicts(&self, named: &ImageCode<'_>) -> bool {
        let Some(name) = named.target_id() else { return true };
        self.target_id().is_some_and(|id| match self.version {
            WITHOUT_ANY => {
                !is_same(&id, &name)
                    || name.features().any(|(feature, state)| id.feature(feature) != state)
            }
            _ => !id.provides_for(&name),
        })
    }
}

fn is_same(one: &TargetId<'_>, other: &TargetId<'_>) -> bool {
    one.primary_processor() == other.primary_processor()
}

/// The features as text in target IDs. Rows are the states of sramecc (not named, off, on), and
/// columns are those of xnack.
const FEATURES: [[&str; 3]; 3] = [
    ["", ":xnack-", ":xnack+"],
    [":sramecc-", ":sramecc-:xnack-", ":sramecc-:xnack+"],
    [":sramecc+", ":sramecc+:xnack-", ":sramecc+:xnack+"],
];

#[cfg(test)]
impl CodeObjectHeader {
    /// Returns a header with this code object version and these flags.
    pub(crate) fn of(version: u32, flags: u32) -> Self {
        Self { version, flags }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    /// Returns the start of a file with these flags, as clang 22.1.8 writes it.
    fn header(os_abi: u8, abi_version: u8, flags: u32) -> [u8; 64] {
        let mut data = [0; 64];
        data[..9].copy_from_slice(&[0x7f, b'E', b'L', b'F', 2, 1, 1, os_abi, abi_version]);
        data[18..20].copy_from_slice(&224u16.to_le_bytes());
        data[48..52].copy_from_slice(&flags.to_le_bytes());
        data
    }

    #[test]
    fn flags_of_clang_22() {
        for (flags, id, generic) in [
            (0x53f, "gfx90a", 0),
            (0xe3f, "gfx90a:sramecc+:xnack-", 0),
            (0x73f, "gfx90a:xnack+", 0),
            (0xb3f, "gfx90a:sramecc-:xnack+", 0),
            (0x54c, "gfx942", 0),
            (0x41, "gfx1100", 0),
            (0x549, "gfx1250", 0),
            (0x749, "gfx1250", 0),
            (0x100_075b, "gfx12-5-generic", 1),
            (0x100_055f, "gfx9-4-generic", 1),
            (0x100_0e5f, "gfx9-4-generic:sramecc+:xnack-", 1),
        ] {
            let parsed = CodeObjectHeader::parse(&header(64, 4, flags)).unwrap();
            assert_eq!(
                (parsed.target_id().map(|id| id.to_string()).as_deref(), parsed.version),
                (Some(id), 6),
                "{flags:#x}"
            );
            assert_eq!(parsed.generic_version(), generic);
        }
        assert_eq!(CodeObjectHeader::parse(&header(64, 2, 0x53f)).unwrap().version, 4);
        for abi_version in [0, 9] {
            assert_eq!(
                CodeObjectHeader::parse(&header(64, abi_version, 0x53f)).unwrap().target_id(),
                None
            );
        }
        // Objects for amdpal and mesa3d are refused.
        assert!(CodeObjectHeader::parse(&header(65, 0, 0x32f)).is_err());
    }

    /// Tests flags written by LLVM 14, with the target IDs that comgr 2.4 (ROCm 5.2.3) reads from
    /// them.
    #[test]
    fn flags_of_version_3() {
        for (flags, id) in [
            (0x2a, "gfx803"),
            (0x28, "gfx801:xnack-"),
            (0x12c, "gfx900:xnack+"),
            (0x32f, "gfx906:sramecc+:xnack+"),
            (0x22f, "gfx906:sramecc+:xnack-"),
            (0x12f, "gfx906:sramecc-:xnack+"),
            (0x33f, "gfx90a:sramecc+:xnack+"),
        ] {
            let parsed = CodeObjectHeader::parse(&header(64, 1, flags)).unwrap();
            assert_eq!(
                (parsed.target_id().map(|id| id.to_string()).as_deref(), parsed.version),
                (Some(id), 3),
                "{flags:#x}"
            );
        }
    }
}

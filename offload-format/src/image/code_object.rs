//! The ELF header of an AMD code object.
//!
//! `e_flags` from code object version 4 on (AMDGPUUsage, "ELF Header"; values checked on files of LLVM 22.1.8): bits 0-7
//! the processor, 8-9 xnack, 10-11 sramecc (0 not supported, 1 any, 2 off, 3 on), 24-31 the version of a generic target.

use super::ElfHeader;
use crate::target::amdgpu;
use crate::{Error, ErrorKind, Result};
use alloc::string::String;

const EM_AMDGPU: u16 = 224;
const ELFOSABI_AMDGPU_HSA: u8 = 64;
/// Versions whose `e_flags` are as in the table.
const FLAGS_VERSIONS: core::ops::RangeInclusive<u32> = 4..=6;

/// What the ELF header of an AMD code object says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CodeObjectHeader {
    version: u32,
    flags: u32,
}

impl CodeObjectHeader {
    /// Reads the header at the start of `data`.
    ///
    /// Returns an error if this is no 64-bit little-endian ELF file for AMD GPUs.
    pub fn parse(data: &[u8]) -> Result<Self> {
        let elf = ElfHeader::parse(data)?;
        if elf.machine != EM_AMDGPU {
            return Err(Error::new(ErrorKind::Malformed, "ELF machine (AMD GPU code has 224)", 18));
        }
        if elf.os_abi != ELFOSABI_AMDGPU_HSA {
            return Err(Error::new(ErrorKind::Malformed, "ELF OS/ABI (code for AMD's HSA runtime has 64)", 7));
        }
        // EI_ABIVERSION counts from version 2 on.
        Ok(Self { version: u32::from(elf.abi_version) + 2, flags: elf.flags })
    }

    /// Code object version: 4, 5, 6.
    pub fn version(&self) -> u32 {
        self.version
    }

    /// Version of the generic target; 0 where the code is for one processor.
    pub fn generic_version(&self) -> u32 {
        self.flags >> 24
    }

    /// The canonical target ID that the flags stand for; `None` for a processor that no table holds, or for a version
    /// whose flags mean something else, or may.
    pub fn target_id(&self) -> Option<String> {
        if !FLAGS_VERSIONS.contains(&self.version) {
            return None;
        }
        let mut id = String::from(amdgpu::find_mach(self.flags as u8)?.name);
        for (shift, name) in [(10, "sramecc"), (8, "xnack")] {
            match self.flags >> shift & 3 {
                2 => id.extend([":", name, "-"]),
                3 => id.extend([":", name, "+"]),
                _ => {}
            }
        }
        Some(id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The start of a file as clang 22.1.8 writes it, with these flags.
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
            (0x100_055f, "gfx9-4-generic", 1),
            (0x100_0e5f, "gfx9-4-generic:sramecc+:xnack-", 1),
        ] {
            let parsed = CodeObjectHeader::parse(&header(64, 4, flags)).unwrap();
            assert_eq!((parsed.target_id().as_deref(), parsed.version()), (Some(id), 6), "{flags:#x}");
            assert_eq!(parsed.generic_version(), generic);
        }
        assert_eq!(CodeObjectHeader::parse(&header(64, 2, 0x53f)).unwrap().version(), 4);
        assert_eq!(CodeObjectHeader::parse(&header(64, 9, 0x53f)).unwrap().target_id(), None);
        // amdpal and mesa3d objects.
        assert!(CodeObjectHeader::parse(&header(65, 0, 0x32f)).is_err());
    }
}

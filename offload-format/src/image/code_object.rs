//! The ELF header of an AMD code object.
//!
//! `e_flags` from code object version 4 on (AMDGPUUsage, "ELF Header"; values checked on files of LLVM 22.1.8): bits 0-7
//! the processor, 8-9 xnack, 10-11 sramecc (0 not supported, 1 any, 2 off, 3 on), 24-31 the version of a generic target.

use super::ElfHeader;
use crate::target::amdgpu;
use crate::{Error, ErrorKind, Result};
use alloc::string::String;

const EM_AMDGPU: u16 = 224;

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
    /// before 4, whose flags mean something else.
    pub fn target_id(&self) -> Option<String> {
        if self.version < 4 {
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

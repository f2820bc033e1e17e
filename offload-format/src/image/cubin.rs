//! The ELF header of a cubin. Two generations (headers of ptxas 12.9 and 13.5, named so by llvm-readelf 22):
//!
//! | CUDA | OS/ABI | ABI version | compute capability in `e_flags` |
//! |---|---|---|---|
//! | up to 12 | 51 | 7 | bits 0-7 |
//! | from 13 on | 65 | 8 | bits 8-15 |

use super::ElfHeader;
use crate::{Error, ErrorKind, Result};

const EM_CUDA: u16 = 190;
const FIRST_NEW_ABI_VERSION: u8 = 8;

/// What the ELF header of a cubin says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CubinHeader {
    number: u32,
}

impl CubinHeader {
    /// Reads the header at the start of `data`.
    ///
    /// Returns an error if this is no 64-bit little-endian ELF file for NVIDIA GPUs.
    pub fn parse(data: &[u8]) -> Result<Self> {
        let elf = ElfHeader::parse(data)?;
        if elf.machine != EM_CUDA {
            return Err(Error::new(ErrorKind::Malformed, "ELF machine (NVIDIA GPU code has 190)", 18));
        }
        let shift = if elf.os_abi == 51 && elf.abi_version < FIRST_NEW_ABI_VERSION { 0 } else { 8 };
        Ok(Self { number: elf.flags >> shift & 0xff })
    }

    /// Compute capability times ten: 90 of `sm_90`.
    pub fn number(&self) -> u32 {
        self.number
    }
}

//! The ELF header of a cubin. Two generations exist (headers of ptxas 12.9 and 13.5, with the names
//! of llvm-readelf 22):
//!
//! | written by | OS/ABI | ABI version | compute capability in `e_flags` |
//! |---|---|---|---|
//! | CUDA up to 12, up to sm_90 | 51 | 7 | bits 0-7 |
//! | CUDA 12 from sm_100 on, CUDA 13 | 65 | 8 | bits 8-15 |

mod arguments;
mod kernels;
#[cfg(feature = "containers")]
mod toolkit;

pub(super) use arguments::CubinArguments;
pub(super) use kernels::CubinKernels;

use super::elf::ElfHeader;
use crate::target::{ImageCode, NvidiaArch, NvidiaCode};
use crate::{Error, ErrorKind, Result};

pub(super) const EM_CUDA: u16 = 190;

/// The ELF header of a cubin.
///
/// The format and its references are on the [module's page](super).
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
            return Err(Error::new(
                ErrorKind::Malformed,
                "ELF machine (NVIDIA GPU code has 190)",
                18,
            ));
        }
        let shift = match elf.os_abi {
            51 => 0,
            65 => 8,
            _ => {
                return Err(Error::new(
                    ErrorKind::Malformed,
                    "ELF OS/ABI (cubins have 51 or 65)",
                    7,
                ));
            }
        };
        Ok(Self { number: elf.flags >> shift & 0xff })
    }

    /// Returns the compute capability times ten: 90 for `sm_90`. The header does not distinguish
    /// `sm_90` and `sm_90a`: ptxas 13.5 writes the same flags for both.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// Returns the architecture without its suffix: `sm_90` for code for `sm_90a`, too.
    pub fn arch(&self) -> NvidiaArch {
        let (major, minor) = (self.number / 10, self.number % 10);
        NvidiaArch { code: NvidiaCode::Cubin, major, minor, suffix: None }
    }

    /// Returns the code of the image beside the code that its names describe. The suffix comes from
    /// the names.
    pub(super) fn code<'a>(&self, named: ImageCode<'a>) -> ImageCode<'a> {
        if self.contradicts(&named) { ImageCode::Cubin(self.arch()) } else { named }
    }

    /// Whether the names claim a device on which the image does not run.
    pub(super) fn contradicts(&self, named: &ImageCode<'_>) -> bool {
        !matches!(named, ImageCode::Cubin(arch) if arch.number() == self.number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_of_both_generations() {
        // The rows are headers that ptxas 12.9 writes for sm_90, and ptxas 13.5 for sm_90a and
        // sm_100f.
        for (os_abi, abi_version, flags, number) in
            [(51, 7, 0x5a_055a, 90), (65, 8, 0x600_5a04, 90), (65, 8, 0x600_6402, 100)]
        {
            let mut data = [0; 64];
            data[..9].copy_from_slice(&[0x7f, b'E', b'L', b'F', 2, 1, 1, os_abi, abi_version]);
            data[18..20].copy_from_slice(&190u16.to_le_bytes());
            data[48..52].copy_from_slice(&u32::to_le_bytes(flags));
            assert_eq!(CubinHeader::parse(&data).unwrap().number(), number);
        }
    }
}

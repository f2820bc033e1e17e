//! The ELF header of a cubin. There are two generations of headers (as found in cubins of ptxas
//! 12.9 and 13.5; field names as in llvm-readelf 22):
//!
//! | written by | OS/ABI | ABI version | compute capability in `e_flags` | suffix `a` |
//! |---|---|---|---|---|
//! | CUDA up to 12, up to sm_90 | 51 | 7 | bits 0-7 | bit 11 |
//! | CUDA 12 from sm_100 on | 65 | 8 | bits 8-15 | bit 3 |
//! | CUDA 13 | 65 | 8 | bits 8-15 | attribute 9 of the section `.nv.compat` is 1 |
//!
//! Machine code for `sm_100f` is the same as for `sm_100`. Source: files of ptxas 12.0 to 13.5, and
//! the names that cuobjdump 13.5 lists.

mod arguments;
mod kernels;
#[cfg(feature = "containers")]
mod toolkit;

pub(super) use arguments::CubinArguments;
pub(super) use kernels::CubinKernels;

use super::elf::{Elf, ElfHeader};
use crate::reader::Reader;
use crate::target::{ImageCode, NvidiaArch, NvidiaCode, NvidiaSuffix};
use crate::{Error, ErrorKind, Result};

pub(super) const EM_CUDA: u16 = 190;

/// The ELF header of a cubin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CubinHeader {
    /// The compute capability times ten: 90 for `sm_90` and `sm_90a`.
    pub number: u32,
    /// Whether the code runs only on this compute capability.
    is_specific: bool,
}

/// The type of the section `.nv.compat`.
const SHT_COMPAT: u32 = 0x7000_0086;

/// The attribute for the suffix `a`, as cuobjdump 13.5 names it.
const EICOMPAT_ATTR_CUDA_ACCELERATOR_TARGET: u8 = 9;

/// The form of attributes with values of any size. In any other form, the value is two bytes.
const EICOMPAT_FMT_SVAL: u8 = 4;

impl CubinHeader {
    /// Reads the header at the start of `data`. Cubins from CUDA 13 must be whole for the suffix to
    /// be read.
    ///
    /// Returns an error unless this is a 64-bit little-endian ELF file for NVIDIA GPUs.
    pub fn parse(data: &[u8]) -> Result<Self> {
        let elf = ElfHeader::parse(data)?;
        if elf.machine != EM_CUDA {
            return Err(Error::new(
                ErrorKind::Malformed,
                "ELF machine (NVIDIA GPU code has 190)",
                18,
            ));
        }
        let (shift, specific) = match elf.os_abi {
            51 => (0, 11),
            65 => (8, 3),
            _ => {
                return Err(Error::new(
                    ErrorKind::Malformed,
                    "ELF OS/ABI (cubins have 51 or 65)",
                    7,
                ));
            }
        };
        let number = elf.flags >> shift & 0xff;
        let is_specific = elf.flags >> specific & 1 == 1 || is_accelerator_target(data);
        Ok(Self { number, is_specific })
    }

    /// Returns the architecture, such as `sm_90a`. For `sm_100f`, returns `sm_100`.
    pub fn arch(&self) -> NvidiaArch {
        let (major, minor) = (self.number / 10, self.number % 10);
        let suffix = self.is_specific.then_some(NvidiaSuffix::ArchSpecific);
        NvidiaArch { code: NvidiaCode::Cubin, major, minor, suffix }
    }

    /// Returns the contents of a cubin's section `.nv.compat`, which are empty if it has none.
    pub(crate) fn compat(data: &[u8]) -> Result<&[u8]> {
        let elf = Elf::parse(data)?;
        for index in 0..elf.sections() {
            let section = elf.section(index)?;
            if section.kind == SHT_COMPAT {
                return elf.data(&section);
            }
        }
        Ok(&[])
    }

    /// Returns the code of the image. `named` is the code according to the image's names, which may
    /// contain a suffix that the header lacks.
    pub(super) fn code<'a>(&self, named: ImageCode<'a>) -> ImageCode<'a> {
        if self.contradicts(&named) { ImageCode::Cubin(self.arch()) } else { named }
    }

    /// Whether the names claim a device that the image does not run on.
    pub(super) fn contradicts(&self, named: &ImageCode<'_>) -> bool {
        let own = self.arch();
        !matches!(named, ImageCode::Cubin(arch)
            if arch.number() == self.number && (own.suffix.is_none() || arch.suffix == own.suffix))
    }
}

/// Whether a cubin's section `.nv.compat` restricts the code to one compute capability. If `data`
/// is only the start of a cubin, the section is missing.
fn is_accelerator_target(data: &[u8]) -> bool {
    let attributes = Reader::new(CubinHeader::compat(data).unwrap_or_default());
    let mut at = 0;
    while let (Ok(form), Ok(attribute), Ok(value)) = (
        attributes.u8(at, "attribute"),
        attributes.u8(at + 1, "attribute"),
        attributes.u16(at + 2, "attribute"),
    ) {
        if attribute == EICOMPAT_ATTR_CUDA_ACCELERATOR_TARGET {
            return value == 1;
        }
        at += 4 + if form == EICOMPAT_FMT_SVAL { u64::from(value) } else { 0 };
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn flags_of_both_generations() {
        // The rows are headers written by ptxas 12.8 for sm_90, sm_90a and sm_100a, and by ptxas
        // 13.5 for sm_90a and sm_100f.
        for (os_abi, abi_version, flags, arch) in [
            (51, 7, 0x5a_055a, "sm_90"),
            (51, 7, 0x5a_0d5a, "sm_90a"),
            (65, 8, 0x600_640a, "sm_100a"),
            (65, 8, 0x600_5a04, "sm_90"),
            (65, 8, 0x600_6402, "sm_100"),
        ] {
            let mut data = [0; 64];
            data[..9].copy_from_slice(&[0x7f, b'E', b'L', b'F', 2, 1, 1, os_abi, abi_version]);
            data[18..20].copy_from_slice(&190u16.to_le_bytes());
            data[48..52].copy_from_slice(&u32::to_le_bytes(flags));
            assert_eq!(CubinHeader::parse(&data).unwrap().arch().to_string(), arch);
        }
    }
}

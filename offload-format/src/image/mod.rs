//! What an image says of itself in its header.

mod bitcode;
mod code_object;
mod cubin;
mod ptx;

pub use bitcode::{Bitcode, DefinedGlobals};
pub use code_object::CodeObjectHeader;
pub use cubin::CubinHeader;
pub use ptx::PtxHeader;

use crate::reader::Reader;
use crate::{Error, ErrorKind, Result};

const ELF_MAGIC: &[u8; 4] = b"\x7fELF";

/// The fields of a 64-bit little-endian ELF header that GPU code uses.
#[derive(Debug, Clone, Copy)]
struct ElfHeader {
    os_abi: u8,
    abi_version: u8,
    machine: u16,
    flags: u32,
}

impl ElfHeader {
    fn parse(data: &[u8]) -> Result<Self> {
        let reader = Reader::new(data);
        if reader.bytes(0, 4, "ELF magic")? != ELF_MAGIC {
            return Err(Error::new(ErrorKind::BadMagic, "ELF magic", 0));
        }
        if (reader.u8(4, "ELF class")?, reader.u8(5, "ELF byte order")?) != (2, 1) {
            return Err(Error::new(ErrorKind::Malformed, "ELF class and byte order", 4));
        }
        Ok(Self {
            os_abi: reader.u8(7, "ELF OS/ABI")?,
            abi_version: reader.u8(8, "ELF ABI version")?,
            machine: reader.u16(18, "ELF machine")?,
            flags: reader.u32(48, "ELF flags")?,
        })
    }
}

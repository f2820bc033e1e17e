//! The fields of a cubin that its fatbin entry repeats.

use crate::image::CubinHeader;
use crate::reader::Reader;
use crate::{Error, ErrorKind, Result};

/// The OS/ABI of cubins with `.nv.compat`, as written by ptxas 13.x, and by ptxas 12.9 for `sm_100`
/// and later.
const OS_ABI: u8 = 65;
/// An `e_flags` bit in these cubins; ptxas 13.5 and 12.9 set it for `sm_100` and later.
const IS_PORTABLE: u32 = 0x2;
/// The maximum size of `.nv.compat` in bytes; tools write 16 to 44.
const LARGEST: usize = 0xffff;

/// The values of a cubin that its fatbin entry repeats.
#[derive(Debug, Clone)]
pub(super) struct Cubin<'data> {
    /// The compute capability times ten.
    pub(super) number: u32,
    pub(super) abi_version: u8,
    /// The section `.nv.compat`, if bit 1 of `e_flags` is set; otherwise the section has no effect.
    pub(super) compat: Option<&'data [u8]>,
}

impl<'data> Cubin<'data> {
    pub(super) fn parse(data: &'data [u8]) -> Result<Self> {
        let number = CubinHeader::parse(data)?.number;
        let reader = Reader::new(data);
        let abi_version = reader.u8(8, "ELF ABI version")?;
        let counts = reader.u8(7, "ELF OS/ABI")? == OS_ABI
            && reader.u32(48, "ELF flags")? & IS_PORTABLE != 0;
        let compat = if counts { Some(CubinHeader::compat(data)?) } else { None };
        if compat.is_some_and(|compat| compat.len() > LARGEST) {
            return Err(Error::new(ErrorKind::Malformed, "section .nv.compat (too large)", 0));
        }
        Ok(Self { number, abi_version, compat })
    }
}

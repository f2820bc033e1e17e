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
        let compat =
            if counts { Some(section(reader, b".nv.compat")?.unwrap_or(&[])) } else { None };
        if compat.is_some_and(|compat| compat.len() > LARGEST) {
            return Err(Error::new(ErrorKind::Malformed, "section .nv.compat (too large)", 0));
        }
        Ok(Self { number, abi_version, compat })
    }
}

fn section<'data>(reader: Reader<'data>, wanted: &[u8]) -> Result<Option<&'data [u8]>> {
    let table = reader.u64(40, "ELF section table offset")?;
    let header_size = u64::from(reader.u16(58, "ELF section header size")?);
    let count = u64::from(reader.u16(60, "ELF section count")?);
    let names_index = u64::from(reader.u16(62, "ELF section name table index")?);
    let headers = Reader::new(reader.range(table, count * header_size, 40, "ELF section table")?);
    let contents = |index: u64| {
        let at = index * header_size;
        let (offset, size) = (
            headers.u64(at + 24, "ELF section offset")?,
            headers.u64(at + 32, "ELF section size")?,
        );
        reader.range(offset, size, table + at + 24, "ELF section")
    };
    let names = Reader::new(contents(names_index)?);
    for index in 0..count {
        let name = headers.u32(index * header_size, "ELF section name")?.into();
        let with_nul = wanted.len() as u64 + 1;
        if names
            .bytes(name, with_nul, "ELF section name")
            .is_ok_and(|it| it.strip_suffix(b"\0") == Some(wanted))
        {
            return contents(index).map(Some);
        }
    }
    Ok(None)
}

//! The parts of a relocatable ELF file that rewriting needs.

use super::NOT_A_HOST;
use crate::object_file::offset_of;
use crate::reader::Reader;
use crate::{Error, ErrorKind, Result};
use alloc::vec::Vec;
use object::elf::ET_REL;
use object::endian::Endianness;
use object::read::elf::{FileHeader, SectionHeader};

/// The word size and byte order of an ELF file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Class {
    pub(super) is_64: bool,
    pub(super) big_endian: bool,
}

impl Class {
    pub(super) fn header_size(self) -> u64 {
        if self.is_64 { 64 } else { 52 }
    }

    pub(super) fn section_header_size(self) -> u64 {
        if self.is_64 { 64 } else { 40 }
    }

    pub(super) fn word_size(self) -> u64 {
        if self.is_64 { 8 } else { 4 }
    }

    pub(super) fn symbol_size(self) -> u64 {
        if self.is_64 { 24 } else { 16 }
    }

    pub(super) fn symbol_section_at(self) -> usize {
        if self.is_64 { 6 } else { 14 }
    }

    /// Returns `e_machine`.
    pub(super) fn machine(self, header: &[u8]) -> u16 {
        self.u16([header[18], header[19]])
    }

    pub(super) fn u16(self, bytes: [u8; 2]) -> u16 {
        if self.big_endian { u16::from_be_bytes(bytes) } else { u16::from_le_bytes(bytes) }
    }

    pub(super) fn u32(self, bytes: [u8; 4]) -> u32 {
        if self.big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) }
    }

    pub(super) fn bytes_of_u16(self, value: u16) -> [u8; 2] {
        if self.big_endian { value.to_be_bytes() } else { value.to_le_bytes() }
    }

    pub(super) fn bytes_of_u32(self, value: u32) -> [u8; 4] {
        if self.big_endian { value.to_be_bytes() } else { value.to_le_bytes() }
    }

    pub(super) fn put_word(self, out: &mut Vec<u8>, value: u64) {
        match (self.is_64, self.big_endian) {
            (true, true) => out.extend_from_slice(&value.to_be_bytes()),
            (true, false) => out.extend_from_slice(&value.to_le_bytes()),
            // Earlier checks refused values that do not fit.
            (false, _) => out.extend_from_slice(&self.bytes_of_u32(value as u32)),
        }
    }
}

/// A section header, with the name instead of the name's offset.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Section<'a> {
    pub(super) name: &'a [u8],
    pub(super) kind: u32,
    pub(super) flags: u64,
    pub(super) address: u64,
    pub(super) offset: u64,
    pub(super) size: u64,
    pub(super) link: u32,
    pub(super) info: u32,
    pub(super) align: u64,
    pub(super) entry_size: u64,
    /// The section's bytes in the file.
    pub(super) contents: &'a [u8],
}

/// A relocatable ELF file, split into its parts.
#[derive(Debug)]
pub(super) struct ElfFile<'a> {
    pub(super) class: Class,
    /// The file header.
    pub(super) header: &'a [u8],
    /// The sections; number 0 is not a section.
    pub(super) sections: Vec<Section<'a>>,
    /// The number of the section name table.
    pub(super) names: usize,
}

impl<'a> ElfFile<'a> {
    /// Splits the file `data` into its parts; `names` supplies the section names.
    pub(super) fn parse<Header: FileHeader<Endian = Endianness>>(
        data: &'a [u8],
        names: &[&'a [u8]],
    ) -> Result<Self> {
        let malformed = |what| Error::new(ErrorKind::Malformed, what, 0);
        let header = Header::parse(data).map_err(|_| malformed("ELF header"))?;
        let endian = header.endian().map_err(|_| malformed("ELF header"))?;
        let class = Class { is_64: header.is_class_64(), big_endian: endian == Endianness::Big };
        if header.e_type(endian) != ET_REL
            || header.e_phnum(endian) != 0
            || header.e_shoff(endian).into() == 0
        {
            return Err(Error::new(ErrorKind::BadMagic, NOT_A_HOST, 16));
        }
        let headers = header.section_headers(endian, data);
        let headers = headers.map_err(|_| malformed("section header table"))?;
        let reader = Reader::new(data);
        let mut sections = Vec::with_capacity(headers.len());
        // Number 0 has no name.
        for (index, (it, name)) in headers.iter().zip([&b""[..]].iter().chain(names)).enumerate() {
            let mut section = Section {
                name,
                kind: it.sh_type(endian).0,
                flags: it.sh_flags(endian).0,
                address: it.sh_addr(endian).into(),
                offset: it.sh_offset(endian).into(),
                size: it.sh_size(endian).into(),
                link: it.sh_link(endian),
                info: it.sh_info(endian),
                align: it.sh_addralign(endian).into(),
                entry_size: it.sh_entsize(endian).into(),
                contents: b"",
            };
            if !matches!(section.kind, SHT_NULL | SHT_NOBITS) {
                section.contents = reader
                    .range(section.offset, section.size, offset_of(data, it), "section")
                    .map_err(|error| error.in_entry(index as u64))?;
            }
            sections.push(section);
        }
        let names = header.shstrndx(endian, data).unwrap_or(0) as usize;
        if !(1..sections.len()).contains(&names) {
            return Err(malformed("section number of the section name table"));
        }
        let header = reader.bytes(0, class.header_size(), "ELF header")?;
        Ok(Self { class, header, sections, names })
    }
}

pub(super) const SHN_LORESERVE: u16 = 0xff00;
pub(super) const SHN_XINDEX: u16 = 0xffff;
pub(super) const SHT_NULL: u32 = 0;
pub(super) const SHT_NOBITS: u32 = 8;
pub(super) const SHT_SYMTAB_SHNDX: u32 = 18;
pub(super) const SHT_RELA: u32 = 4;
pub(super) const SHT_REL: u32 = 9;
pub(super) const SHT_CREL: u32 = 0x4000_0014;

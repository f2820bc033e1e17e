//! The parts of a relocatable ELF file that rewriting needs.

use super::NOT_A_HOST;
use super::read::Sections;
use crate::reader::Reader;
use crate::{Error, ErrorKind, Result};
use alloc::vec::Vec;

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

    pub(super) fn u64(self, bytes: [u8; 8]) -> u64 {
        if self.big_endian { u64::from_be_bytes(bytes) } else { u64::from_le_bytes(bytes) }
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
    pub(super) fn parse(data: &'a [u8], names: &Sections<'a>) -> Result<Self> {
        let reader = Reader::new(data);
        let ident = reader.bytes(0, 16, "ELF header")?;
        let class = Class { is_64: ident[4] == 2, big_endian: ident[5] == 2 };
        let header = reader.bytes(0, class.header_size(), "ELF header")?;
        let mut fields = Fields { class, bytes: &header[16..] };
        let file_type = fields.u16();
        fields.skip(2 + 4 + 2 * class.word_size() as usize);
        let section_headers = fields.word();
        fields.skip(4 + 2 + 2);
        let program_headers = fields.u16();
        fields.skip(2);
        let (mut count, mut names_at) = (u64::from(fields.u16()), u32::from(fields.u16()));
        const ET_REL: u16 = 1;
        if file_type != ET_REL || program_headers != 0 || section_headers == 0 {
            return Err(Error::new(ErrorKind::BadMagic, NOT_A_HOST, 16));
        }

        // Numbers that do not fit into the file header are stored in section header 0.
        let size = class.section_header_size();
        let mut first =
            Fields { class, bytes: reader.bytes(section_headers, size, "section header")? };
        let first = first.section();
        if count == 0 {
            count = first.size;
        }
        if names_at == SHN_XINDEX.into() {
            names_at = first.link;
        }
        let table =
            reader.range(section_headers, count.saturating_mul(size), 0, "section header table")?;
        let mut headers = Fields { class, bytes: table };
        let mut sections = Vec::new();
        while !headers.bytes.is_empty() {
            let at = data.len() as u64 - headers.bytes.len() as u64;
            let mut section = headers.section();
            if !matches!(section.kind, SHT_NULL | SHT_NOBITS) {
                section.contents = reader
                    .range(section.offset, section.size, at, "section")
                    .map_err(|error| error.in_entry(sections.len() as u64))?;
            }
            if !sections.is_empty() {
                section.name = names.name(sections.len())?;
            }
            sections.push(section);
        }
        let names_at = usize::try_from(names_at).unwrap_or(usize::MAX);
        if !(1..sections.len()).contains(&names_at) {
            return Err(Error::new(
                ErrorKind::Malformed,
                "section number of the section name table",
                0,
            ));
        }
        Ok(Self { class, header, sections, names: names_at })
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

/// A reader of consecutive fields, in bytes whose length was already checked.
struct Fields<'a> {
    class: Class,
    bytes: &'a [u8],
}

impl<'a> Fields<'a> {
    fn skip(&mut self, size: usize) {
        self.bytes = &self.bytes[size..];
    }

    fn take<const N: usize>(&mut self) -> [u8; N] {
        let (taken, rest) = self.bytes.split_first_chunk().expect("the table is long enough");
        self.bytes = rest;
        *taken
    }

    fn u16(&mut self) -> u16 {
        self.class.u16(self.take())
    }

    fn u32(&mut self) -> u32 {
        self.class.u32(self.take())
    }

    fn word(&mut self) -> u64 {
        if self.class.is_64 { self.class.u64(self.take()) } else { self.u32().into() }
    }

    /// Reads a section header, but leaves its name and contents empty.
    fn section(&mut self) -> Section<'a> {
        self.skip(4);
        Section {
            name: b"",
            kind: self.u32(),
            flags: self.word(),
            address: self.word(),
            offset: self.word(),
            size: self.word(),
            link: self.u32(),
            info: self.u32(),
            align: self.word(),
            entry_size: self.word(),
            contents: b"",
        }
    }
}

//! A relocatable ELF file with sections added or removed, in the layout of llvm-objcopy 22.1.8:
//!
//! | | |
//! |---|---|
//! | file header | unchanged, without program headers |
//! | contents of the sections | in the order of their old offsets, new sections last; each at the next multiple of its alignment, even if it is empty or SHT_NOBITS |
//! | section headers | in their old order, new sections last; aligned to the size of a word |
//!
//! The tables of section names and symbol names are rebuilt. If the old file used one table for
//! both, the new file does, too.

use super::elf_file::{
    Class, ElfFile, SHN_LORESERVE, SHN_XINDEX, SHT_CREL, SHT_NOBITS, SHT_NULL, SHT_REL, SHT_RELA,
    SHT_SYMTAB_SHNDX, Section,
};
use super::elf_numbers::SectionNumbers;
use super::elf_symbols::Symbols;
use super::section::{Growth, NewSection};
use crate::layout::{Layout, Piece};
use crate::string_table::StringTable;
use crate::{Error, ErrorKind, Result};
use alloc::borrow::ToOwned;
use alloc::vec;
use alloc::vec::Vec;
use object::endian::Endianness;
use object::read::elf::FileHeader;

const SHT_PROGBITS: u32 = 1;
const SHT_SYMTAB: u32 = 2;
const SHT_GROUP: u32 = 17;
const SHF_INFO_LINK: u64 = 0x40;
const SHF_EXCLUDE: u64 = 0x8000_0000;

/// Returns the file with the sections of `new` added and, if `strip` is set, without the bundle's
/// sections.
pub(super) fn rewrite<Header: FileHeader<Endian = Endianness>>(
    data: &[u8],
    names: &[&[u8]],
    strip: bool,
    new: &[NewSection],
) -> Result<Layout> {
    let file = ElfFile::parse::<Header>(data, names)?;
    let sections = SectionNumbers::new(&file, strip);
    let mut symbol_tables =
        file.sections.iter().enumerate().filter(|(_, section)| section.kind == SHT_SYMTAB);
    let symtab = symbol_tables.next().map_or(0, |(index, _)| index);
    if symbol_tables.next().is_some() {
        return Err(Error::new(ErrorKind::Malformed, "ELF file (more than one symbol table)", 0));
    }
    let symbols = Symbols::parse(&file, symtab, &sections)?;
    let symbol_names = match file.sections[symtab].link as usize {
        _ if symtab == 0 => file.names,
        link if (1..file.sections.len()).contains(&link) => link,
        _ => {
            return Err(Error::new(
                ErrorKind::Malformed,
                "section number of the symbol name table",
                0,
            ));
        }
    };
    if [file.names, symbol_names, symtab].iter().any(|table| sections.has_gone(*table as u32)) {
        return Err(Error::new(
            ErrorKind::Malformed,
            "table of names or symbols (the table itself is a bundle entry)",
            0,
        ));
    }

    let kept =
        || file.sections.iter().enumerate().filter(|(index, _)| !sections.has_gone(*index as u32));
    let section_strings =
        || kept().map(|(_, it)| it.name).chain(new.iter().map(|it| it.name.as_bytes()));
    let symbol_strings = || symbols.kept().map(|symbol| symbol.name);
    let mut strings = [StringTable::new(b"\0"), StringTable::new(b"\0")];
    let shared = symbol_names == file.names;
    if shared {
        strings[0]
            .add(section_strings().chain(symbol_strings()).filter(|it| !it.is_empty()).collect());
    } else {
        strings[0].add(section_strings().filter(|it| !it.is_empty()).collect());
        strings[1].add(symbol_strings().filter(|it| !it.is_empty()).collect());
    }
    let of_symbols = &strings[usize::from(!shared)];

    let mut growth = Growth::new(data);
    // The headers and contents of the new file's sections. Number 0 is not a section.
    let mut rewritten = vec![Rewritten { header: Section::default(), contents: Piece::Zeros(0) }];
    for (index, section) in kept().skip(1) {
        let mut header = Section { link: sections.map(section.link)?, ..*section };
        let bytes = match section.kind {
            _ if index == file.names => strings[0].bytes.clone(),
            _ if index == symbol_names && symtab != 0 => of_symbols.bytes.clone(),
            SHT_SYMTAB => {
                header.info = symbols.first_global(section.info);
                header.align = file.class.word_size();
                symbols.table(file.class, of_symbols)
            }
            SHT_SYMTAB_SHNDX => symbols.section_indices(file.class),
            SHT_GROUP => {
                header.info = symbols.numbers.of_symbol(section.info, section.offset)?;
                sections.group(file.class, section.contents)?
            }
            SHT_REL | SHT_RELA | SHT_CREL => {
                header.info = sections.map(section.info)?;
                symbols.relocations(&file, section)?
            }
            _ => {
                if section.flags & SHF_INFO_LINK != 0 {
                    header.info = sections.map(section.info)?;
                }
                section.contents.to_owned()
            }
        };
        growth.take(bytes.len() as u64)?;
        if !matches!(section.kind, SHT_NULL | SHT_NOBITS) {
            header.size = bytes.len() as u64;
        }
        rewritten.push(Rewritten { header, contents: Piece::Bytes(bytes) });
    }
    let mut order: Vec<usize> = (1..rewritten.len()).collect();
    order.sort_by_key(|index| rewritten[*index].header.offset);
    for section in new {
        order.push(rewritten.len());
        rewritten.push(Rewritten::new(section));
    }

    let mut layout = Layout::new();
    let mut at = file.class.header_size();
    let mut body = Layout::new();
    for index in order {
        let Rewritten { header, contents } = &mut rewritten[index];
        at = pad(&mut body, &mut growth, at, header.align)?;
        header.offset = at;
        at += contents.size();
        body.push(core::mem::replace(contents, Piece::Zeros(0)));
    }
    at = pad(&mut body, &mut growth, at, file.class.word_size())?;
    if !file.class.is_64 && at > u32::MAX.into() {
        let kind = ErrorKind::LimitExceeded { need: at, limit: u32::MAX.into() };
        return Err(Error::new(kind, "32-bit ELF file", 0));
    }
    let names = sections.map(file.names as u32)? as usize;
    layout.push(Piece::Bytes(file_header(&file, at, rewritten.len(), names)));
    layout.append(body);
    layout.push(Piece::Bytes(section_headers(file.class, &rewritten, names, &strings[0])));
    Ok(layout)
}

/// A section of the new file, with its contents until they are laid out.
struct Rewritten<'a> {
    header: Section<'a>,
    contents: Piece,
}

impl<'a> Rewritten<'a> {
    fn new(section: &'a NewSection) -> Self {
        let header = Section {
            name: section.name.as_bytes(),
            kind: SHT_PROGBITS,
            flags: SHF_EXCLUDE,
            size: section.contents.size(),
            align: 1,
            ..Section::default()
        };
        Self { header, contents: section.contents.clone() }
    }
}

/// Pads a layout of `at` bytes with zeros to a multiple of `align`, and returns the new size.
fn pad(layout: &mut Layout, growth: &mut Growth, at: u64, align: u64) -> Result<u64> {
    let end = at.checked_next_multiple_of(align.max(1)).unwrap_or(u64::MAX);
    growth.take(end - at)?;
    layout.push(Piece::Zeros(end - at));
    Ok(end)
}

/// Returns the file header with the new offset and number of section headers.
fn file_header(file: &ElfFile, section_headers: u64, count: usize, names: usize) -> Vec<u8> {
    let class = file.class;
    let (offsets_at, sizes_at) = if class.is_64 { (32, 52) } else { (28, 40) };
    let mut out = file.header[..offsets_at].to_owned();
    class.put_word(&mut out, 0);
    class.put_word(&mut out, section_headers);
    // The `e_flags` field.
    out.extend_from_slice(&file.header[sizes_at - 4..sizes_at]);
    // There are no program headers, so their offset, size and number are 0.
    let count = u16::try_from(count).ok().filter(|count| *count < SHN_LORESERVE).unwrap_or(0);
    let names =
        u16::try_from(names).ok().filter(|names| *names < SHN_LORESERVE).unwrap_or(SHN_XINDEX);
    for field in
        [class.header_size() as u16, 0, 0, class.section_header_size() as u16, count, names]
    {
        out.extend_from_slice(&class.bytes_of_u16(field));
    }
    out
}

fn section_headers(
    class: Class,
    sections: &[Rewritten],
    names: usize,
    strings: &StringTable,
) -> Vec<u8> {
    let mut out = Vec::with_capacity(sections.len() * class.section_header_size() as usize);
    let too_many = |number: usize| number >= SHN_LORESERVE.into();
    for (index, Rewritten { header, .. }) in sections.iter().enumerate() {
        // Header 0 stores values that do not fit into the file header.
        let first = Section {
            size: if too_many(sections.len()) { sections.len() as u64 } else { 0 },
            link: if too_many(names) { names as u32 } else { 0 },
            ..Section::default()
        };
        let header = if index == 0 { &first } else { header };
        out.extend_from_slice(&class.bytes_of_u32(if header.name.is_empty() {
            0
        } else {
            strings.offset(header.name) as u32
        }));
        out.extend_from_slice(&class.bytes_of_u32(header.kind));
        for word in [header.flags, header.address, header.offset, header.size] {
            class.put_word(&mut out, word);
        }
        out.extend_from_slice(&class.bytes_of_u32(header.link));
        out.extend_from_slice(&class.bytes_of_u32(header.info));
        for word in [header.align, header.entry_size] {
            class.put_word(&mut out, word);
        }
    }
    out
}

//! A COFF object with sections added or removed, in the layout of llvm-objcopy 22.1.8:
//!
//! | | |
//! |---|---|
//! | file header | unchanged |
//! | section table | unchanged, new sections last |
//! | contents of the sections | in the order of the section table, not aligned, each followed by its relocations; an empty section has no offset |
//! | symbol table | unchanged |
//! | string table | rebuilt: section names of more than 8 bytes, then symbol names |

use super::NOT_A_HOST;
use super::coff_class::{Class, RELOCATION_SIZE};
use super::coff_symbols::Symbols;
use super::section::{Growth, NewSection, is_entry};
use crate::layout::{Layout, Piece};
use crate::reader::Reader;
use crate::string_table::StringTable;
use crate::{Error, ErrorKind, Result};
use alloc::borrow::ToOwned;
use alloc::format;
use alloc::vec::Vec;

const SECTION_HEADER_SIZE: u64 = 40;
const LINE_NUMBER_SIZE: u64 = 6;
const IMAGE_SCN_LNK_REMOVE: u32 = 0x0000_0800;
const IMAGE_SCN_LNK_NRELOC_OVFL: u32 = 0x0100_0000;
const IMAGE_SCN_MEM_READ: u32 = 0x4000_0000;
/// The maximum number of sections in an ordinary object. Larger 16-bit section numbers have special
/// meanings.
const MAX_SECTIONS: usize = 0xfeff;

/// A section: its header, and the data that the header's offsets refer to. Writing replaces the
/// name and the offsets in the header.
struct Section<'a> {
    name: &'a [u8],
    header: [u8; SECTION_HEADER_SIZE as usize],
    contents: Piece,
    relocations: Vec<u8>,
    line_numbers: &'a [u8],
}

/// Returns the file with the sections of `new` added and, if `strip` is set, without the bundle's
/// sections.
pub(super) fn rewrite(
    data: &[u8],
    names: &[&[u8]],
    is_big: bool,
    strip: bool,
    new: &[NewSection],
) -> Result<Layout> {
    let class = Class { is_big };
    let reader = Reader::new(data);
    let header = reader.bytes(0, class.header_size(), "COFF header")?;
    let [count_at, table_at, symbol_count_at] = class.counts_at();
    if !is_big && header[16..18] != [0, 0] {
        // A file with an optional header is a linked image, not an object.
        return Err(Error::new(ErrorKind::BadMagic, NOT_A_HOST, 16));
    }
    let gone: Vec<bool> = names.iter().map(|name| strip && is_entry(name)).collect();
    let table = reader.u32(table_at as u64, "symbol table offset")?;
    let symbol_count = reader.u32(symbol_count_at as u64, "number of symbols")?;
    let symbols = Symbols::parse(class, &reader, table, symbol_count, &gone)?;

    let mut growth = Growth::new(data);
    let mut sections = Vec::with_capacity(gone.len() + new.len());
    for (index, _) in gone.iter().enumerate().filter(|(_, gone)| !**gone) {
        let at = class.header_size() + index as u64 * SECTION_HEADER_SIZE;
        let mut section =
            Section::parse(&reader, at, !strip).map_err(|error| error.in_entry(index as u64))?;
        section.name = names[index];
        if let Piece::Bytes(bytes) = &section.contents {
            growth.take(bytes.len() as u64)?;
        }
        growth.take(section.relocations.len() as u64 + section.line_numbers.len() as u64)?;
        symbols.renumber(&mut section.relocations)?;
        sections.push(section);
    }
    for section in new {
        sections.push(Section::new(section, sections.last())?);
    }
    if !is_big && sections.len() > MAX_SECTIONS {
        let [need, limit] = [sections.len(), MAX_SECTIONS].map(|n| n as u64 * SECTION_HEADER_SIZE);
        let kind = ErrorKind::LimitExceeded { need, limit };
        return Err(Error::new(kind, "section table of a COFF object", count_at as u64));
    }

    // The string table starts with its size, which is set after the names are added.
    let is_long = |name: &&[u8]| name.len() > 8;
    let mut strings = StringTable::new(&[0; 4]);
    strings.add(
        sections
            .iter()
            .map(|section| section.name)
            .filter(|name| !stands_in_header(name))
            .collect(),
    );
    strings.add(symbols.names().filter(is_long).collect());
    let size = strings.bytes.len() as u32;
    strings.bytes[..4].copy_from_slice(&size.to_le_bytes());

    let mut at = class.header_size() + sections.len() as u64 * SECTION_HEADER_SIZE;
    let mut section_table = Vec::new();
    let mut body = Layout::new();
    for section in sections {
        let parts = [
            section.contents,
            Piece::Bytes(section.relocations),
            Piece::Bytes(section.line_numbers.to_owned()),
        ];
        section_table.extend_from_slice(&section_name(section.name, &strings));
        section_table.extend_from_slice(&section.header[8..20]);
        for part in parts {
            let place = if part.size() == 0 { 0 } else { at as u32 };
            section_table.extend_from_slice(&place.to_le_bytes());
            at += part.size();
            body.push(part);
        }
        section_table.extend_from_slice(&section.header[32..]);
    }
    let kind = ErrorKind::LimitExceeded { need: at, limit: u32::MAX.into() };
    let table = u32::try_from(at).map_err(|_| Error::new(kind, "COFF object", 0))?;

    let mut header = header.to_owned();
    let count = (section_table.len() as u64 / SECTION_HEADER_SIZE) as u32;
    header[count_at..count_at + class.section_number_size()]
        .copy_from_slice(&count.to_le_bytes()[..class.section_number_size()]);
    header[table_at..table_at + 4].copy_from_slice(&table.to_le_bytes());
    header[symbol_count_at..symbol_count_at + 4].copy_from_slice(&symbols.count().to_le_bytes());
    let mut layout = Layout::new();
    layout.push(Piece::Bytes(header));
    layout.push(Piece::Bytes(section_table));
    layout.append(body);
    layout.push(Piece::Bytes(symbols.table(&strings)));
    layout.push(Piece::Bytes(strings.bytes));
    Ok(layout)
}

impl<'a> Section<'a> {
    /// Reads the header at `at`, except for the name. If `place` is set, a section without bytes in
    /// the file is filled with zeros, as LLVM does.
    fn parse(reader: &Reader<'a>, at: u64, place: bool) -> Result<Self> {
        let header = reader.bytes(at, SECTION_HEADER_SIZE, "section header")?;
        let size = reader.u32(at + 16, "section size")?;
        let [data, relocations, line_numbers] =
            [20, 24, 28].map(|field| reader.u32(at + field, "section header"));
        let mut relocation_count = u64::from(reader.u16(at + 32, "number of relocations")?);
        let line_number_count = u64::from(reader.u16(at + 34, "number of line numbers")?);
        let relocations = u64::from(relocations?);
        if reader.u32(at + 36, "section characteristics")? & IMAGE_SCN_LNK_NRELOC_OVFL != 0
            && relocation_count == 0xffff
        {
            // A number of relocations that does not fit into the field is stored in the first
            // relocation.
            relocation_count = reader.u32(relocations, "number of relocations")?.into();
        }
        let relocations = match relocation_count {
            0 => &b""[..],
            count => reader.range(relocations, count * RELOCATION_SIZE, at + 24, "relocations")?,
        };
        let line_numbers = match line_number_count {
            0 => &b""[..],
            count => reader.range(
                line_numbers?.into(),
                count * LINE_NUMBER_SIZE,
                at + 28,
                "line numbers",
            )?,
        };
        let contents = match data? {
            0 => Piece::Zeros(if place { size.into() } else { 0 }),
            data => {
                Piece::Bytes(reader.range(data.into(), size.into(), at + 20, "section")?.to_owned())
            }
        };
        let mut whole = [0; SECTION_HEADER_SIZE as usize];
        whole.copy_from_slice(header);
        Ok(Self {
            name: b"",
            header: whole,
            contents,
            relocations: relocations.to_owned(),
            line_numbers,
        })
    }

    /// Creates a section that follows `last`.
    fn new(section: &'a NewSection, last: Option<&Self>) -> Result<Self> {
        let size = section.contents.size();
        let kind = ErrorKind::LimitExceeded { need: size, limit: u32::MAX.into() };
        let size =
            u32::try_from(size).map_err(|_| Error::new(kind, "code object in a COFF object", 0))?;
        let word = |at: usize| {
            last.map_or(0, |it| u32::from_le_bytes([0, 1, 2, 3].map(|byte| it.header[at + byte])))
        };
        // Objects do not use the virtual size and address, but LLVM fills these fields with running
        // totals.
        let address = word(8).wrapping_add(word(12));
        let mut header = [0; SECTION_HEADER_SIZE as usize];
        let characteristics = IMAGE_SCN_LNK_REMOVE | IMAGE_SCN_MEM_READ;
        for (at, field) in [(8, size), (12, address), (16, size), (36, characteristics)] {
            header[at..at + 4].copy_from_slice(&field.to_le_bytes());
        }
        let contents = section.contents.clone();
        Ok(Self {
            name: section.name.as_bytes(),
            header,
            contents,
            relocations: Vec::new(),
            line_numbers: b"",
        })
    }
}

/// Whether a section's name is stored in its header: it has at most 8 bytes and does not start with
/// a slash.
fn stands_in_header(name: &[u8]) -> bool {
    name.len() <= 8 && !name.starts_with(b"/")
}

/// Returns the name field of a section header: the name itself, or its offset in the string table,
/// in decimal after one slash if it fits, otherwise in base 64 after two slashes.
fn section_name(name: &[u8], strings: &StringTable) -> [u8; 8] {
    let mut field = [0; 8];
    if stands_in_header(name) {
        field[..name.len()].copy_from_slice(name);
        return field;
    }
    let mut offset = strings.offset(name);
    if offset <= 9_999_999 {
        let text = format!("/{offset}");
        field[..text.len()].copy_from_slice(text.as_bytes());
    } else {
        field[..2].copy_from_slice(b"//");
        for digit in field[2..].iter_mut().rev() {
            const DIGITS: &[u8; 64] =
                b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
            *digit = DIGITS[(offset % 64) as usize];
            offset /= 64;
        }
    }
    field
}

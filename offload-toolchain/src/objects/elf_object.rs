//! Sections and symbols of objects that compilers wrote: this crate edits some of them. Only
//! little-endian ELF files of 64 bits are read.

use std::ops::Range;

/// A section of an object.
#[derive(Debug, PartialEq, Eq)]
pub struct Section {
    pub name: String,
    /// The offset of the section's header in the file.
    pub header: usize,
    /// The bytes of the section in the file.
    pub range: Range<usize>,
    kind: u32,
    link: u32,
}

const SHT_SYMTAB: u32 = 2;
const SHT_NOBITS: u32 = 8;
const STB_WEAK: u8 = 2;
const SYMBOL_SIZE: usize = 24;

/// Offsets of fields in a section's header.
const FLAGS: usize = 8;
const OFFSET: usize = 24;
const SIZE: usize = 32;

/// The offset of the field that locates the table of section headers.
const TABLE: usize = 0x28;

/// A multiple of the alignment of every section that compilers write.
const PAGE: usize = 4096;

/// Returns the sections of an object; `None` if the bytes are no such object, or incomplete.
pub fn sections(bytes: &[u8]) -> Option<Vec<Section>> {
    (bytes.get(..6)? == b"\x7fELF\x02\x01").then_some(())?;
    let table = usize::try_from(u64_at(bytes, TABLE)?).ok()?;
    let [size, count, names] = [0x3a, 0x3c, 0x3e].map(|at| u16_at(bytes, at).map(usize::from));
    let (size, count, names) = (size?, count?, names?);
    let header = |index: usize| table.checked_add(index.checked_mul(size)?);
    let names = usize::try_from(u64_at(bytes, header(names)?.checked_add(OFFSET)?)?).ok()?;
    let mut sections = Vec::new();
    for index in 0..count {
        let header = header(index)?;
        bytes.get(header..)?;
        let name = names.checked_add(usize::try_from(u32_at(bytes, header)?).ok()?)?;
        let kind = u32_at(bytes, header + 4)?;
        let offset = usize::try_from(u64_at(bytes, header + OFFSET)?).ok()?;
        let size = match kind {
            SHT_NOBITS => 0,
            _ => usize::try_from(u64_at(bytes, header + SIZE)?).ok()?,
        };
        let range = offset..offset.checked_add(size)?;
        bytes.get(range.clone())?;
        let link = u32_at(bytes, header + 40)?;
        sections.push(Section { name: text_at(bytes, name)?, header, range, kind, link });
    }
    Some(sections)
}

/// Adds flags to a section of an object.
pub fn add_flags(bytes: &mut [u8], section: &Section, flags: u64) -> Option<()> {
    let flags = u64_at(bytes, section.header + FLAGS)? | flags;
    put(bytes, section.header + FLAGS, flags)
}

/// Returns an object in which a section has other contents, which may be longer. The sections after
/// it keep their alignment.
pub fn with_contents(bytes: &[u8], section: &Section, contents: &[u8]) -> Option<Vec<u8>> {
    let Range { start, end } = section.range;
    // What follows moves by whole pages.
    let more = contents.len().saturating_sub(section.range.len()).next_multiple_of(PAGE);
    let mut edited = bytes.get(..start)?.to_vec();
    edited.extend_from_slice(contents);
    edited.resize(end + more, 0);
    edited.extend_from_slice(bytes.get(end..)?);
    let moved = |at: usize| if at >= end { at + more } else { at };
    let table = moved(usize::try_from(u64_at(bytes, TABLE)?).ok()?);
    put(&mut edited, TABLE, table as u64)?;
    for other in sections(bytes)? {
        let header = moved(other.header);
        if other.header == section.header {
            put(&mut edited, header + SIZE, contents.len() as u64)?;
        } else if other.range.start >= end {
            put(&mut edited, header + OFFSET, moved(other.range.start) as u64)?;
        }
    }
    Some(edited)
}

/// Makes a symbol of an object weak: several objects of a program may define it. Returns `None` if
/// the object has no such symbol.
pub fn weaken(bytes: &mut [u8], symbol: &str) -> Option<()> {
    let sections = sections(bytes)?;
    let table = sections.iter().find(|section| section.kind == SHT_SYMTAB)?;
    let names = sections.get(usize::try_from(table.link).ok()?)?;
    let mut symbols = table.range.clone().step_by(SYMBOL_SIZE);
    let found = symbols.find(|&at| {
        let name = u32_at(bytes, at).and_then(|name| usize::try_from(name).ok());
        name.and_then(|name| text_at(bytes, names.range.start + name))
            .is_some_and(|it| it == symbol)
    })?;
    let info = bytes.get_mut(found + 4)?;
    *info = *info & 0xf | STB_WEAK << 4;
    Some(())
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// Returns the text at this offset, up to its NUL.
fn text_at(bytes: &[u8], at: usize) -> Option<String> {
    let text = bytes.get(at..)?.split(|byte| *byte == 0).next()?;
    Some(String::from_utf8_lossy(text).into_owned())
}

fn put(bytes: &mut [u8], at: usize, number: u64) -> Option<()> {
    bytes.get_mut(at..at.checked_add(8)?)?.copy_from_slice(&number.to_le_bytes());
    Some(())
}

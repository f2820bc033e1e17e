//! Sections and symbols of objects that compilers wrote: this crate edits some of them. Only
//! little-endian ELF files of 64 bits are read.
//!
//! The functions are `#[inline]`: only build scripts that make static libraries compile them.

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
#[inline]
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
#[inline]
pub fn add_flags(bytes: &mut [u8], section: &Section, flags: u64) -> Option<()> {
    let flags = u64_at(bytes, section.header + FLAGS)? | flags;
    put(bytes, section.header + FLAGS, flags)
}

/// Returns an object in which a section has other contents, which may be longer. The sections after
/// it keep their alignment.
#[inline]
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
#[inline]
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

#[inline]
fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

#[inline]
fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

#[inline]
fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// Returns the text at this offset, up to its NUL.
#[inline]
fn text_at(bytes: &[u8], at: usize) -> Option<String> {
    let text = bytes.get(at..)?.split(|byte| *byte == 0).next()?;
    Some(String::from_utf8_lossy(text).into_owned())
}

#[inline]
fn put(bytes: &mut [u8], at: usize, number: u64) -> Option<()> {
    bytes.get_mut(at..at.checked_add(8)?)?.copy_from_slice(&number.to_le_bytes());
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: &[u8] = b"\0.strtab\0.data\0.symtab\0first\0second\0";

    /// Returns an object with sections for names, data and two symbols, whose headers come last.
    fn object() -> Vec<u8> {
        let mut bytes = vec![0; 0x40];
        bytes[..6].copy_from_slice(b"\x7fELF\x02\x01");
        (bytes[0x3a], bytes[0x3c], bytes[0x3e]) = (0x40, 3, 0);
        let mut headers: Vec<[u64; 8]> = Vec::new();
        let mut section = |bytes: &mut Vec<u8>, name: u64, kind: u64, content: &[u8]| {
            headers.push([
                name | kind << 32,
                0,
                0,
                bytes.len() as u64,
                content.len() as u64,
                0,
                8,
                0,
            ]);
            bytes.extend_from_slice(content);
            bytes.resize(bytes.len().next_multiple_of(8), 0);
        };
        section(&mut bytes, 1, 3, NAMES);
        section(&mut bytes, 9, 1, b"old data");
        let mut symbols = [0; 2 * SYMBOL_SIZE];
        // Global functions.
        (symbols[0], symbols[4], symbols[24], symbols[28]) = (23, 0x12, 29, 0x12);
        section(&mut bytes, 15, u64::from(SHT_SYMTAB), &symbols);
        bytes[TABLE] = u8::try_from(bytes.len()).unwrap();
        for field in headers.iter().flatten() {
            bytes.extend_from_slice(&field.to_le_bytes());
        }
        bytes
    }

    /// Returns the name and the bytes of each section.
    fn contents(bytes: &[u8]) -> Vec<(String, &[u8])> {
        let all = sections(bytes).unwrap().into_iter();
        all.map(|section| (section.name, &bytes[section.range])).collect()
    }

    #[test]
    fn other_sections_keep_their_bytes_and_alignment() {
        let bytes = object();
        let before = contents(&bytes);
        let names: Vec<&str> = before.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, [".strtab", ".data", ".symtab"]);
        assert_eq!((before[0].1, before[1].1), (NAMES, &b"old data"[..]));
        for length in [0, 3, 8, 9, PAGE, PAGE + 9] {
            let new = vec![b'n'; length];
            let data = &sections(&bytes).unwrap()[1];
            let edited = with_contents(&bytes, data, &new).unwrap();
            let after = contents(&edited);
            assert_eq!((&after[0], &after[2]), (&before[0], &before[2]), "{length}");
            assert_eq!((after[1].0.as_str(), after[1].1), (".data", &*new));
            let moved = sections(&edited).unwrap()[2].range.start;
            let from = sections(&bytes).unwrap()[2].range.start;
            assert_eq!((moved - from) % PAGE, 0, "{length}");
        }
    }

    #[test]
    fn one_symbol_gets_weak() {
        let mut bytes = object();
        let symbols = sections(&bytes).unwrap()[2].range.start;
        assert_eq!(weaken(&mut bytes, "second"), Some(()));
        // The type stays.
        assert_eq!((bytes[symbols + 4], bytes[symbols + SYMBOL_SIZE + 4]), (0x12, 0x22));
        for other in ["third", "secon", "econd"] {
            assert_eq!(weaken(&mut bytes, other), None);
        }
    }

    #[test]
    fn damaged_objects_are_none_or_edited() {
        let whole = object();
        // The last fields of a header are not read.
        for length in 0..whole.len() - 20 {
            let mut bytes = whole[..length].to_vec();
            assert_eq!((sections(&bytes), weaken(&mut bytes, "first")), (None, None), "{length}");
        }
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] = 0xff;
            let _ = weaken(&mut bytes, "first");
            for section in sections(&bytes).unwrap_or_default() {
                let _ = with_contents(&bytes, &section, b"some longer text");
            }
        }
    }
}

//! Sections and symbols of compiled objects, and the edits that builds make to such objects. Only
//! 64-bit little-endian ELF files are supported.
//!
//! The functions are `#[inline]`, so only build scripts that build static libraries compile them.

use super::elf::{Elf, ElfHeader, SHT_SYMTAB, find_symbol};
use crate::reader::Reader;
use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Range;

/// A section of an object.
///
/// Source: System V ABI, "Sections".
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ElfSection {
    /// The name, with invalid UTF-8 replaced.
    pub name: String,
    /// The range of the section's bytes in the file.
    pub range: Range<usize>,
    /// The offset of the section's header in the file.
    header: usize,
    flags: u64,
}

const STB_WEAK: u8 = 2;

/// Offsets of fields in a section's header.
const FLAGS: usize = 8;
const OFFSET: usize = 24;
const SIZE: usize = 32;

/// The offset of `e_shoff`, which holds the offset of the section headers.
const TABLE: usize = 0x28;

/// A multiple of every section alignment that compilers use.
const PAGE: usize = 4096;

impl ElfSection {
    /// Returns an object's sections; `None` if the object is unsupported or incomplete.
    #[inline]
    pub fn all(data: &[u8]) -> Option<Vec<Self>> {
        ElfHeader::parse(data).ok()?;
        let elf = Elf::parse(data).ok()?;
        let mut sections = Vec::new();
        for index in 0..elf.sections() {
            let section = elf.section(index).ok()?;
            let start = usize::try_from(section.offset).ok()?;
            let range = start..start + elf.data(&section).ok()?.len();
            let name = elf.name_after(&section, b"")?.split(|&byte| byte == 0).next()?;
            sections.push(Self {
                name: String::from_utf8_lossy(name).into_owned(),
                range,
                header: usize::try_from(section.row).ok()?,
                flags: section.flags,
            });
        }
        Some(sections)
    }

    /// Adds flags to the section's header in the object `data`.
    #[inline]
    pub fn add_flags(&self, data: &mut [u8], flags: u64) -> Option<()> {
        put(data, self.header + FLAGS, self.flags | flags)
    }

    /// Returns the object with the section's contents replaced. The new contents may be longer than
    /// the old ones; later sections keep their alignment.
    #[inline]
    pub fn with_contents(&self, data: &[u8], contents: &[u8]) -> Option<Vec<u8>> {
        let Range { start, end } = self.range;
        // Move the following bytes by whole pages, so that sections stay aligned.
        let more = contents.len().saturating_sub(self.range.len()).next_multiple_of(PAGE);
        let mut edited = data.get(..start)?.to_vec();
        edited.extend_from_slice(contents);
        edited.resize(end + more, 0);
        edited.extend_from_slice(data.get(end..)?);
        let moved = |at: usize| if at >= end { at + more } else { at };
        let table = Reader::new(data).u64(TABLE as u64, "ELF e_shoff").ok()?;
        put(&mut edited, TABLE, moved(usize::try_from(table).ok()?) as u64)?;
        for other in Self::all(data)? {
            let header = moved(other.header);
            if other.header == self.header {
                put(&mut edited, header + SIZE, contents.len() as u64)?;
            } else if other.range.start >= end {
                put(&mut edited, header + OFFSET, moved(other.range.start) as u64)?;
            }
        }
        Some(edited)
    }
}

/// Makes a symbol of an object weak, so that several objects of a program may define it. Returns
/// `None` if the object has no such symbol.
#[inline]
pub fn weaken(data: &mut [u8], symbol: &str) -> Option<()> {
    let row = find_symbol(data, SHT_SYMTAB, |symbols, found, _| {
        Ok((symbols.name(found) == Some(symbol.as_bytes())).then_some(found.row))
    });
    let info = data.get_mut(usize::try_from(row.ok()??).ok()?.checked_add(4)?)?;
    *info = *info & 0xf | STB_WEAK << 4;
    Some(())
}

#[inline]
fn put(data: &mut [u8], at: usize, number: u64) -> Option<()> {
    data.get_mut(at..at.checked_add(8)?)?.copy_from_slice(&number.to_le_bytes());
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    const SYMBOL_SIZE: usize = 24;

    const NAMES: &[u8] = b"\0.strtab\0.data\0.symtab\0first\0second\0";

    /// Returns an object with sections for names, data and two symbols. The section headers come
    /// last.
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
        let all = ElfSection::all(bytes).unwrap().into_iter();
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
            let data = &ElfSection::all(&bytes).unwrap()[1];
            let edited = data.with_contents(&bytes, &new).unwrap();
            let after = contents(&edited);
            assert_eq!((&after[0], &after[2]), (&before[0], &before[2]), "{length}");
            assert_eq!((after[1].0.as_str(), after[1].1), (".data", &*new));
            let moved = ElfSection::all(&edited).unwrap()[2].range.start;
            let from = ElfSection::all(&bytes).unwrap()[2].range.start;
            assert_eq!((moved - from) % PAGE, 0, "{length}");
        }
    }

    #[test]
    fn one_symbol_gets_weak() {
        let mut bytes = object();
        let symbols = ElfSection::all(&bytes).unwrap()[2].range.start;
        assert_eq!(weaken(&mut bytes, "second"), Some(()));
        // The type is unchanged.
        assert_eq!((bytes[symbols + 4], bytes[symbols + SYMBOL_SIZE + 4]), (0x12, 0x22));
        for other in ["third", "secon", "econd"] {
            assert_eq!(weaken(&mut bytes, other), None);
        }
    }

    #[test]
    fn damaged_objects_are_none_or_edited() {
        let whole = object();
        // The last fields of a section header are not read.
        for length in 0..whole.len() - 20 {
            let mut bytes = whole[..length].to_vec();
            assert_eq!(
                (ElfSection::all(&bytes), weaken(&mut bytes, "first")),
                (None, None),
                "{length}"
            );
        }
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] = 0xff;
            let _ = weaken(&mut bytes, "first");
            for section in ElfSection::all(&bytes).unwrap_or_default() {
                let _ = section.with_contents(&bytes, b"some longer text");
            }
        }
    }
}

//! The symbols of a COFF object, and the numbers that refer to them.

use super::coff_class::{Class, RELOCATION_SIZE};
use super::numbers::Numbers;
use crate::reader::Reader;
use crate::string_table::{Names, StringTable};
use crate::{Error, ErrorKind, Result};
use alloc::borrow::ToOwned;
use alloc::vec::Vec;

const SECTION_NUMBER_AT: usize = 12;
const IMAGE_SYM_CLASS_STATIC: u8 = 3;
const IMAGE_SYM_CLASS_WEAK_EXTERNAL: u8 = 105;

/// A symbol of the new file, with its auxiliary records.
struct Symbol<'a> {
    name: &'a [u8],
    records: Vec<u8>,
}

/// The symbol table.
pub(super) struct Symbols<'a> {
    kept: Vec<Symbol<'a>>,
    /// The new numbers of the old symbol table's records.
    numbers: Numbers,
}

impl<'a> Symbols<'a> {
    /// Reads the symbol table of `count` records at `table` (0 if there is none), and drops the
    /// symbols of removed sections.
    pub(super) fn parse(
        class: Class,
        reader: &Reader<'a>,
        table: u32,
        count: u32,
        gone: &[bool],
    ) -> Result<Self> {
        let mut symbols = Self { kept: Vec::new(), numbers: Numbers::new() };
        if table == 0 {
            return Ok(symbols);
        }
        let size = class.symbol_size();
        let table = u64::from(table);
        let records = reader.range(table, u64::from(count) * size, 8, "symbol table")?;
        let strings = table + records.len() as u64;
        let strings_size = reader.u32(strings, "size of the string table")?.max(4);
        let strings = reader.range(strings, strings_size.into(), strings, "string table")?;
        let mut names = Names::new(strings, records.len());
        let sections = SectionNumbers::new(gone);
        let mut number = 0;
        let mut rest = records;
        while let Some((record, _)) = rest.split_at_checked(size as usize) {
            let malformed = |what| Error::new(ErrorKind::Malformed, what, table).in_entry(number);
            let auxiliary = usize::from(record[size as usize - 1]);
            let Some((whole, behind)) = rest.split_at_checked((1 + auxiliary) * size as usize)
            else {
                return Err(malformed("number of auxiliary symbols"));
            };
            rest = behind;
            let section = class.section_number(&record[SECTION_NUMBER_AT..]);
            let has_gone = sections.has_gone(section);
            (0..=auxiliary).for_each(|_| symbols.numbers.push(!has_gone));
            number += 1 + auxiliary as u64;
            if has_gone {
                continue;
            }
            let name = match record[..4] {
                [0, 0, 0, 0] => names.get(
                    u32::from_le_bytes([record[4], record[5], record[6], record[7]]),
                    "symbol name",
                )?,
                _ => &record[..record[..8].iter().position(|byte| *byte == 0).unwrap_or(8)],
            };
            let mut records = whole.to_owned();
            sections.renumber(class, &mut records);
            symbols.kept.push(Symbol { name, records });
        }
        symbols.renumber_weak(class)?;
        Ok(symbols)
    }

    /// Replaces a symbol's number in the four bytes of `field` with the new number.
    fn renumber_at(&self, field: &mut [u8]) -> Result<()> {
        let old = u32::from_le_bytes([field[0], field[1], field[2], field[3]]);
        field.copy_from_slice(&self.numbers.of_symbol(old, 0)?.to_le_bytes());
        Ok(())
    }

    /// Updates the symbol numbers in relocations.
    pub(super) fn renumber(&self, relocations: &mut [u8]) -> Result<()> {
        let mut relocations = relocations.chunks_exact_mut(RELOCATION_SIZE as usize);
        relocations.try_for_each(|relocation| self.renumber_at(&mut relocation[4..8]))
    }

    /// Updates the default symbol's number in each weak symbol.
    fn renumber_weak(&mut self, class: Class) -> Result<()> {
        let size = class.symbol_size() as usize;
        let mut kept = core::mem::take(&mut self.kept);
        for symbol in &mut kept {
            if symbol.records[size - 2] == IMAGE_SYM_CLASS_WEAK_EXTERNAL
                && symbol.records.len() > size
            {
                self.renumber_at(&mut symbol.records[size..size + 4])?;
            }
        }
        self.kept = kept;
        Ok(())
    }

    pub(super) fn count(&self) -> u32 {
        self.numbers.kept()
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &'a [u8]> {
        self.kept.iter().map(|symbol| symbol.name)
    }

    pub(super) fn table(&self, strings: &StringTable) -> Vec<u8> {
        let mut out = Vec::new();
        for symbol in &self.kept {
            let mut name = [0; 8];
            match name.get_mut(..symbol.name.len()) {
                Some(short) => short.copy_from_slice(symbol.name),
                None => {
                    name[4..].copy_from_slice(&(strings.offset(symbol.name) as u32).to_le_bytes())
                }
            }
            out.extend_from_slice(&name);
            out.extend_from_slice(&symbol.records[8..]);
        }
        out
    }
}

/// The new numbers of the sections, which count from 1.
struct SectionNumbers(Numbers);

impl SectionNumbers {
    fn new(gone: &[bool]) -> Self {
        let mut numbers = Numbers::new();
        // Number 0 is not a section.
        numbers.push(true);
        gone.iter().for_each(|gone| numbers.push(!gone));
        Self(numbers)
    }

    /// Returns the new number of section `old`: 0 if the section is removed, and `old` if there is
    /// no such section.
    fn map(&self, old: u32) -> u32 {
        self.0.get(old).map_or(old, |new| new.unwrap_or(0))
    }

    fn has_gone(&self, old: u32) -> bool {
        self.0.get(old) == Some(None)
    }

    /// Updates the section numbers in a symbol and its auxiliary records.
    fn renumber(&self, class: Class, records: &mut [u8]) {
        let size = class.symbol_size() as usize;
        let old = class.section_number(&records[SECTION_NUMBER_AT..]);
        let new = self.map(old);
        let width = class.section_number_size();
        records[SECTION_NUMBER_AT..SECTION_NUMBER_AT + width]
            .copy_from_slice(&new.to_le_bytes()[..width]);
        let is_section = records[8..12] == [0; 4] && records[size - 2] == IMAGE_SYM_CLASS_STATIC;
        if let (true, Some(definition)) = (is_section, records.get_mut(size..2 * size)) {
            // The record contains the number of the associated section. Only `/bigobj` objects
            // store its upper half, at a later offset.
            let [low, high] =
                [12, 16].map(|at| u16::from_le_bytes([definition[at], definition[at + 1]]));
            let high = if class.is_big { high } else { 0 };
            let number = self.map(u32::from(high) << 16 | u32::from(low)).to_le_bytes();
            definition[12..14].copy_from_slice(&number[..2]);
            if class.is_big {
                definition[16..18].copy_from_slice(&number[2..]);
            }
        }
    }
}

//! The symbols of a relocatable ELF file, and the numbers that refer to them.

use super::elf_file::{
    Class, ElfFile, SHN_LORESERVE, SHN_XINDEX, SHT_CREL, SHT_SYMTAB_SHNDX, Section,
};
use super::elf_numbers::SectionNumbers;
use super::numbers::Numbers;
use crate::string_table::{Names, StringTable};
use crate::{Error, ErrorKind, Result};
use alloc::borrow::ToOwned;
use alloc::vec::Vec;

const EM_MIPS: u16 = 8;

/// A symbol of the new file.
pub(super) struct Symbol<'a> {
    pub(super) name: &'a [u8],
    bytes: &'a [u8],
    /// The symbol's `st_shndx`; a section number that does not fit is stored in `large_section`.
    section: u16,
    large_section: u32,
}

/// The symbol table.
pub(super) struct Symbols<'a> {
    kept: Vec<Symbol<'a>>,
    pub(super) numbers: Numbers,
}

impl<'a> Symbols<'a> {
    /// Reads the symbols of section `symtab` (0 if there is none), and drops symbols in removed
    /// sections.
    pub(super) fn parse(
        file: &ElfFile<'a>,
        symtab: usize,
        sections: &SectionNumbers,
    ) -> Result<Self> {
        let mut symbols = Self { kept: Vec::new(), numbers: Numbers::new() };
        if symtab == 0 {
            return Ok(symbols);
        }
        let class = file.class;
        let table = &file.sections[symtab];
        let names =
            file.sections.get(table.link as usize).map_or(&b""[..], |section| section.contents);
        let mut large = file
            .sections
            .iter()
            .filter(|it| it.kind == SHT_SYMTAB_SHNDX && it.link as usize == symtab);
        let (large, _) = large.next().map_or(&b""[..], |section| section.contents).as_chunks::<4>();
        let mut names = Names::new(names, table.contents.len());
        for (index, bytes) in table.contents.chunks_exact(class.symbol_size() as usize).enumerate()
        {
            let wrong =
                |what| Error::new(ErrorKind::Malformed, what, table.offset).in_entry(index as u64);
            let at = class.symbol_section_at();
            let section = class.u16([bytes[at], bytes[at + 1]]);
            let number = match section {
                SHN_XINDEX => class
                    .u32(*large.get(index).ok_or_else(|| wrong("symbol's large section number"))?),
                number if number >= SHN_LORESERVE => 0,
                number => number.into(),
            };
            symbols.numbers.push(!sections.has_gone(number));
            if sections.has_gone(number) {
                continue;
            }
            let name =
                names.get(class.u32([bytes[0], bytes[1], bytes[2], bytes[3]]), "symbol name")?;
            let new = sections.map(number)?;
            let (section, large_section) = match u16::try_from(new) {
                _ if section >= SHN_LORESERVE && section != SHN_XINDEX => (section, 0),
                Ok(new) if new < SHN_LORESERVE => (new, 0),
                _ => (SHN_XINDEX, new),
            };
            symbols.kept.push(Symbol { name, bytes, section, large_section });
        }
        Ok(symbols)
    }

    pub(super) fn kept(&self) -> impl Iterator<Item = &Symbol<'a>> {
        self.kept.iter()
    }

    /// Returns the new number of the first global symbol.
    pub(super) fn first_global(&self, index: u32) -> u32 {
        if self.numbers.all_stay() { index } else { self.numbers.at_or_after(index) }
    }

    pub(super) fn table(&self, class: Class, names: &StringTable) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.kept.len() * class.symbol_size() as usize);
        let at = class.symbol_section_at();
        for symbol in &self.kept {
            let name = if symbol.name.is_empty() { 0 } else { names.offset(symbol.name) as u32 };
            out.extend_from_slice(&class.bytes_of_u32(name));
            out.extend_from_slice(&symbol.bytes[4..at]);
            out.extend_from_slice(&class.bytes_of_u16(symbol.section));
            out.extend_from_slice(&symbol.bytes[at + 2..]);
        }
        out
    }

    /// Returns each kept symbol's section number if it does not fit into the symbol table,
    /// otherwise 0.
    pub(super) fn section_indices(&self, class: Class) -> Vec<u8> {
        self.kept.iter().flat_map(|symbol| class.bytes_of_u32(symbol.large_section)).collect()
    }

    /// Returns the new contents of a relocation section.
    pub(super) fn relocations(&self, file: &ElfFile, section: &Section) -> Result<Vec<u8>> {
        if self.numbers.all_stay() {
            return Ok(section.contents.to_owned());
        }
        let class = file.class;
        let malformed = |what| Error::new(ErrorKind::Malformed, what, section.offset);
        let size = usize::try_from(section.entry_size).unwrap_or(0);
        let word = class.word_size() as usize;
        if section.kind == SHT_CREL || size < 2 * word {
            return Err(malformed(
                "relocation section (entries with symbol numbers that cannot be updated)",
            ));
        }
        // The upper bits of `r_info` contain the symbol's number: 32 bits of 64, or 24 of 32. On
        // MIPS, the symbol's number always comes first.
        let at = match (class.big_endian, class.machine(file.header)) {
            (false, machine) if class.is_64 && machine != EM_MIPS => word + 4,
            _ => word,
        };
        let mut out = section.contents.to_owned();
        for relocation in out.chunks_exact_mut(size) {
            let field = &mut relocation[at..at + 4];
            let old = class.u32([field[0], field[1], field[2], field[3]]);
            let new = if class.is_64 {
                self.numbers.of_symbol(old, section.offset)?
            } else {
                self.numbers.of_symbol(old >> 8, section.offset)? << 8 | old & 0xff
            };
            field.copy_from_slice(&class.bytes_of_u32(new));
        }
        Ok(out)
    }
}

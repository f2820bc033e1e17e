//! The parts of 64-bit little-endian ELF files that GPU code uses: the header, sections, symbols,
//! notes.
//!
//! This small module spares build scripts from compiling the crate `object`.

use crate::budget::Budget;
use crate::reader::Reader;
use crate::{Error, ErrorKind, Result};
use alloc::vec::Vec;

pub(super) const MAGIC: &[u8; 4] = b"\x7fELF";

const PT_NOTE: u32 = 4;
pub(super) const SHT_SYMTAB: u32 = 2;
const SHT_NOTE: u32 = 7;
const SHT_NOBITS: u32 = 8;
const SHT_DYNSYM: u32 = 11;
const SECTION_SIZE: u64 = 64;
const SEGMENT_SIZE: u64 = 56;
const SYMBOL_SIZE: u64 = 24;
/// The value of `e_shstrndx` if the actual section number is in the first section's `sh_link`.
const SHN_XINDEX: u16 = 0xffff;

const ET_DYN: u16 = 3;

/// The binding of a unique symbol: all libraries in a process share one definition.
const STB_GNU_UNIQUE: u8 = 10;
const SHN_UNDEF: u16 = 0;
const STB_LOCAL: u8 = 0;
const STT_OBJECT: u8 = 1;
const STT_TLS: u8 = 6;

/// Returns the budget for finding an image's kernels. If tables refer to each other in an unusual
/// order, the search takes more steps than the tables have rows. Files from compilers need less
/// than one step per byte.
pub(super) fn budget_of(data: &[u8]) -> Budget {
    Budget::new(data.len() as u64, 16, "image (finding its kernels would take too long)")
}

/// Returns whether `data` starts with the ELF header of a shared object (`e_type`): 32-bit or
/// 64-bit, in either byte order.
#[inline]
pub(super) fn is_shared_object(data: &[u8]) -> bool {
    let reader = Reader::new(data);
    let kind = match reader.u8(5, "ELF byte order") {
        Ok(2) => reader.u16(16, "ELF type").map(u16::swap_bytes),
        _ => reader.u16(16, "ELF type"),
    };
    data.starts_with(MAGIC) && kind == Ok(ET_DYN)
}

/// Returns the name of a unique symbol (`STB_GNU_UNIQUE`) defined by a shared object, if any. All
/// libraries in a process that define the symbol share the first definition and are never unloaded.
/// g++ emits such symbols unless run with `-fno-gnu-unique`.
///
/// Returns `None` for files other than 64-bit little-endian ELF files.
///
/// Returns an error if the file is malformed.
pub fn unique_symbol(data: &[u8]) -> Result<Option<&[u8]>> {
    find_symbol(data, SHT_DYNSYM, |symbols, symbol, _| {
        let is_unique = symbol.binding == STB_GNU_UNIQUE && symbol.section != SHN_UNDEF;
        Ok(is_unique.then(|| symbols.name(symbol).unwrap_or_default()))
    })
}

/// A symbol that is not local to its object: other objects may define or use it, too.
///
/// Source: System V ABI, "Symbol Table".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GlobalSymbol<'data> {
    /// The name, as the compiler writes it.
    pub name: &'data [u8],
    /// Whether the object defines the symbol rather than just using it.
    pub is_defined: bool,
    /// Whether each thread has its own variable of this name.
    pub is_thread_local: bool,
    /// Whether the symbol is a variable that all threads share.
    pub is_variable: bool,
    /// The size in bytes; 0 if the symbol is undefined or its size unknown.
    pub size: u64,
}

/// Returns the global symbols of an object. The list is empty for files other than 64-bit
/// little-endian ELF files.
///
/// Returns an error if the file is malformed.
pub fn global_symbols(data: &[u8]) -> Result<Vec<GlobalSymbol<'_>>> {
    let mut found = Vec::new();
    find_symbol(data, SHT_SYMTAB, |symbols, symbol, budget| {
        if symbol.binding != STB_LOCAL
            && let Some(name) = symbols.name(symbol)
        {
            // Names may share bytes, so without a limit, a small file could yield many long names.
            budget.spend(name.len() as u64 / 16)?;
            found.push(GlobalSymbol {
                name,
                is_defined: symbol.section != SHN_UNDEF,
                is_thread_local: symbol.kind == STT_TLS,
                is_variable: symbol.kind == STT_OBJECT,
                size: symbol.size,
            });
        }
        Ok(None::<()>)
    })?;
    Ok(found)
}

/// Calls `find` with each symbol in tables of type `table` until it returns a value. Returns `None`
/// for files other than 64-bit little-endian ELF files.
pub(super) fn find_symbol<'data, T>(
    data: &'data [u8],
    table: u32,
    mut find: impl FnMut(&Symbols<'data>, &Symbol, &mut Budget) -> Result<Option<T>>,
) -> Result<Option<T>> {
    if ElfHeader::parse(data).is_err() {
        return Ok(None);
    }
    let elf = Elf::parse(data)?;
    let mut budget = budget_of(data);
    for index in 0..elf.sections() {
        budget.spend(1)?;
        let section = elf.section(index)?;
        if section.kind != table {
            continue;
        }
        let symbols = Symbols::parse(&elf, &section)?;
        for index in 0..u32::try_from(section.size / SYMBOL_SIZE).unwrap_or(u32::MAX) {
            budget.spend(1)?;
            let found = find(&symbols, &symbols.get(index)?, &mut budget)?;
            if found.is_some() {
                return Ok(found);
            }
        }
    }
    Ok(None)
}

/// The ELF header fields that identify an image.
#[derive(Debug, Clone, Copy)]
pub(super) struct ElfHeader {
    pub(super) os_abi: u8,
    pub(super) abi_version: u8,
    pub(super) machine: u16,
    pub(super) flags: u32,
}

impl ElfHeader {
    pub(super) fn parse(data: &[u8]) -> Result<Self> {
        let reader = Reader::new(data);
        if reader.bytes(0, 4, "ELF magic")? != MAGIC {
            return Err(Error::new(ErrorKind::BadMagic, "ELF magic", 0));
        }
        if (reader.u8(4, "ELF class")?, reader.u8(5, "ELF byte order")?) != (2, 1) {
            return Err(Error::new(ErrorKind::Malformed, "ELF class and byte order", 4));
        }
        Ok(Self {
            os_abi: reader.u8(7, "ELF OS/ABI")?,
            abi_version: reader.u8(8, "ELF ABI version")?,
            machine: reader.u16(18, "ELF machine")?,
            flags: reader.u32(48, "ELF flags")?,
        })
    }
}

/// An ELF file, with the positions of its program header table and section header table.
#[derive(Debug, Clone, Copy)]
pub(super) struct Elf<'data> {
    reader: Reader<'data>,
    segment_table: u64,
    segments: u64,
    section_table: u64,
    sections: u64,
    /// The contents of the section name table.
    names: &'data [u8],
}

/// A row of the section table.
#[derive(Debug, Clone, Copy)]
pub(super) struct Section {
    pub(super) name: u32,
    pub(super) kind: u32,
    pub(super) flags: u64,
    pub(super) link: u32,
    pub(super) info: u32,
    pub(super) size: u64,
    /// The offset of the section's bytes in the file.
    pub(super) offset: u64,
    /// The offset of the section's row in the file.
    pub(super) row: u64,
}

/// A row of a symbol table.
#[derive(Debug, Clone, Copy)]
pub(super) struct Symbol {
    pub(super) name: u32,
    pub(super) kind: u8,
    pub(super) binding: u8,
    pub(super) other: u8,
    pub(super) section: u16,
    pub(super) size: u64,
    /// The offset of this row in the file.
    pub(super) row: u64,
}

/// A note, with the file offset of its description.
#[derive(Debug, Clone, Copy)]
pub(super) struct Note<'data> {
    pub(super) owner: &'data [u8],
    pub(super) kind: u32,
    pub(super) description: &'data [u8],
    pub(super) offset: u64,
}

impl<'data> Elf<'data> {
    /// Reads the header, and checks that the program and section header tables lie within the file.
    pub(super) fn parse(data: &'data [u8]) -> Result<Self> {
        let reader = Reader::new(data);
        let mut elf = Self {
            reader,
            segment_table: reader.u64(32, "ELF e_phoff")?,
            segments: u64::from(reader.u16(56, "ELF e_phnum")?),
            section_table: reader.u64(40, "ELF e_shoff")?,
            sections: u64::from(reader.u16(60, "ELF e_shnum")?),
            names: b"",
        };
        let sizes = [(54, elf.segments, SEGMENT_SIZE), (58, elf.sections, SECTION_SIZE)];
        for (field, count, size) in sizes {
            if count > 0 && u64::from(reader.u16(field, "ELF table entry size")?) != size {
                return Err(Error::new(ErrorKind::Malformed, "ELF table entry size", field));
            }
        }
        reader.range(
            elf.segment_table,
            elf.segments * SEGMENT_SIZE,
            32,
            "ELF program header table",
        )?;
        if elf.section_table == 0 {
            return Ok(Self { sections: 0, ..elf });
        }
        // If there are too many sections for the header's field, the first section's size field
        // holds their number instead.
        if elf.sections == 0 {
            elf.sections = elf.section(0)?.size;
        }
        let size = elf.sections.saturating_mul(SECTION_SIZE);
        reader.range(elf.section_table, size, 40, "ELF section header table")?;
        let names = match reader.u16(62, "ELF e_shstrndx")? {
            SHN_XINDEX => elf.section(0)?.link,
            index => u32::from(index),
        };
        elf.names = elf.section(u64::from(names)).and_then(|section| elf.data(&section))?;
        Ok(elf)
    }

    /// Whether a linker wrote the file: only linked files have program headers.
    pub(super) fn is_linked(&self) -> bool {
        self.segments > 0
    }

    pub(super) fn sections(&self) -> u64 {
        self.sections
    }

    pub(super) fn section(&self, index: u64) -> Result<Section> {
        let row = self.section_table.saturating_add(index.saturating_mul(SECTION_SIZE));
        let word = |at: u64| self.reader.u32(row.saturating_add(at), "ELF section header");
        let long = |at: u64| self.reader.u64(row.saturating_add(at), "ELF section header");
        Ok(Section {
            name: word(0)?,
            kind: word(4)?,
            flags: long(8)?,
            offset: long(24)?,
            size: long(32)?,
            link: word(40)?,
            info: word(44)?,
            row,
        })
    }

    /// Returns a section's bytes, which are empty if the section exists only in memory.
    pub(super) fn data(&self, section: &Section) -> Result<&'data [u8]> {
        let size = if section.kind == SHT_NOBITS { 0 } else { section.size };
        self.reader.range(section.offset, size, section.row.saturating_add(24), "ELF section")
    }

    /// Returns the bytes after `prefix` in a section's name. They run past the name's NUL to the
    /// end of the section name table. Returns `None` if the name does not start with `prefix`.
    pub(super) fn name_after(&self, section: &Section, prefix: &[u8]) -> Option<&'data [u8]> {
        self.names.get(usize::try_from(section.name).ok()?..)?.strip_prefix(prefix)
    }

    /// Calls `found` with each note until `found` returns a value. Segments are searched first,
    /// because they exist even without a section table.
    pub(super) fn find_note<T>(
        &self,
        budget: &mut Budget,
        mut found: impl FnMut(Note<'data>) -> Option<T>,
    ) -> Result<Option<T>> {
        for index in 0..self.segments {
            budget.spend(1)?;
            let row = self.segment_table.saturating_add(index * SEGMENT_SIZE);
            if self.reader.u32(row, "ELF program header")? != PT_NOTE {
                continue;
            }
            let start = self.reader.u64(row.saturating_add(8), "ELF program header")?;
            let size = self.reader.u64(row.saturating_add(32), "ELF program header")?;
            let notes =
                self.reader.range(start, size, row.saturating_add(8), "ELF note segment")?;
            if let Some(value) = notes_in(notes, start, budget, &mut found)? {
                return Ok(Some(value));
            }
        }
        for index in 0..self.sections {
            budget.spend(1)?;
            let section = self.section(index)?;
            if section.kind != SHT_NOTE {
                continue;
            }
            if let Some(value) = notes_in(self.data(&section)?, section.offset, budget, &mut found)?
            {
                return Ok(Some(value));
            }
        }
        Ok(None)
    }
}

/// Searches consecutive notes, which start at file offset `base`. Each note is three words (owner
/// size, description size, type) followed by the owner and the description, each padded to a
/// multiple of 4 bytes.
fn notes_in<'data, T>(
    notes: &'data [u8],
    base: u64,
    budget: &mut Budget,
    found: &mut impl FnMut(Note<'data>) -> Option<T>,
) -> Result<Option<T>> {
    let reader = Reader::new(notes);
    let mut at = 0;
    while at < reader.len() {
        budget.spend(1)?;
        let note = || {
            let owner_size = u64::from(reader.u32(at, "ELF note")?);
            let size = u64::from(reader.u32(at + 4, "ELF note")?);
            let kind = reader.u32(at + 8, "ELF note")?;
            let owner = reader.range(at + 12, owner_size, at, "ELF note owner")?;
            let start = at + 12 + owner_size.next_multiple_of(4);
            let description = reader.range(start, size, at + 4, "ELF note description")?;
            Ok((
                Note { owner, kind, description, offset: base.saturating_add(start) },
                start + size,
            ))
        };
        let (note, end) = note().map_err(|error: Error| error.shifted(base))?;
        if let Some(value) = found(note) {
            return Ok(Some(value));
        }
        at = end.next_multiple_of(4);
    }
    Ok(None)
}

/// A symbol table and its string table.
#[derive(Debug, Clone, Copy)]
pub(super) struct Symbols<'data> {
    rows: Reader<'data>,
    /// The offset of the symbols in the file.
    base: u64,
    names: &'data [u8],
}

impl<'data> Symbols<'data> {
    /// Reads the symbols in a section, whose `sh_link` is the index of the section with their
    /// names.
    pub(super) fn parse(elf: &Elf<'data>, section: &Section) -> Result<Self> {
        let names = elf.section(u64::from(section.link))?;
        Ok(Self {
            rows: Reader::new(elf.data(section)?),
            base: section.offset,
            names: elf.data(&names)?,
        })
    }

    pub(super) fn get(&self, index: u32) -> Result<Symbol> {
        let row = u64::from(index) * SYMBOL_SIZE;
        let read = || {
            let info = self.rows.u8(row + 4, "ELF symbol")?;
            Ok(Symbol {
                name: self.rows.u32(row, "ELF symbol")?,
                kind: info & 0xf,
                binding: info >> 4,
                other: self.rows.u8(row + 5, "ELF symbol")?,
                section: self.rows.u16(row + 6, "ELF symbol")?,
                size: self.rows.u64(row + 16, "ELF symbol")?,
                row: self.base.saturating_add(row),
            })
        };
        read().map_err(|error: Error| error.shifted(self.base))
    }

    /// Returns the bytes from the start of a symbol's name to the end of all names. The name ends
    /// at the first NUL.
    pub(super) fn name_on(&self, symbol: &Symbol) -> Option<&'data [u8]> {
        self.names.get(usize::try_from(symbol.name).ok()?..)
    }

    pub(super) fn name(&self, symbol: &Symbol) -> Option<&'data [u8]> {
        self.name_on(symbol)?.split(|&byte| byte == 0).next()
    }
}

/// The hash table of the dynamic symbols (System V ABI, "Hash Table"): two counts, buckets, chains.
#[derive(Debug, Clone, Copy)]
pub(super) struct HashTable<'data> {
    words: Reader<'data>,
    symbols: Symbols<'data>,
}

/// The maximum length of a chain in the hash table. Linkers create as many buckets as symbols, so
/// only files crafted to be slow have longer chains.
const LONGEST_CHAIN: u32 = 64;

impl<'data> HashTable<'data> {
    pub(super) fn parse(elf: &Elf<'data>, section: &Section) -> Result<Self> {
        let symbols = Symbols::parse(elf, &elf.section(u64::from(section.link))?)?;
        Ok(Self { words: Reader::new(elf.data(section)?), symbols })
    }

    /// Returns the symbol with this name and type; `None` if there is none.
    pub(super) fn find(&self, name: &[u8], kind: u8) -> Option<Symbol> {
        let word = |index: u64| self.words.u32(index.checked_mul(4)?, "ELF hash table").ok();
        let buckets = word(0)?;
        let hash = name.iter().fold(0u32, |hash, &byte| {
            let hash = (hash << 4).wrapping_add(u32::from(byte));
            (hash ^ (hash >> 24 & 0xf0)) & 0x0fff_ffff
        });
        let mut index = word(2 + u64::from(hash.checked_rem(buckets)?))?;
        for _ in 0..LONGEST_CHAIN {
            if index == 0 {
                break;
            }
            let symbol = self.symbols.get(index).ok()?;
            let rest = self.symbols.name_on(&symbol).and_then(|found| found.strip_prefix(name));
            if symbol.kind == kind && rest.is_some_and(|rest| rest.first() == Some(&0)) {
                return Some(symbol);
            }
            index = word(2 + u64::from(buckets) + u64::from(index))?;
        }
        None
    }
}

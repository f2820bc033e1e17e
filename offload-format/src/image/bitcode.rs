//! LLVM bitcode: the symbol table, and the bit stream.
//!
//! A bitcode file is a stream of bits in little-endian 32-bit words, after the magic `BC C0 DE`. A
//! wrapper may enclose the magic and the stream (LLVM's BitCodeFormat page; checked against LLVM
//! 22.1.8). At the top level, the stream is a sequence of blocks. A block's first word holds its
//! kind, and the second its size in words. Since LLVM 5, two of the blocks are a symbol table and a
//! string table, each with a single blob. The symbol table's blob has these fields, all of them
//! `u32`:
//!
//! | offset | size | field |
//! |---|---|---|
//! | 0 | 4 | version, 3 in LLVM 22; 1 and 2 differ only after the fields listed here |
//! | 4 | 8 | producer: offset and size in the string table |
//! | 12 | 8 | modules: offset in this blob, count |
//! | 20 | 8 | COMDATs |
//! | 28 | 8 | symbols |
//! | 36 | 8 | sizes and alignments of some symbols |
//! | 44 | 8 | target triple: offset and size in the string table |
//!
//! A symbol consists of a name, an IR name, a COMDAT and flags. Both names are stored as an offset
//! and a size in the string table.

use super::{BITCODE_MAGIC as MAGIC, BITCODE_WRAPPER_MAGIC as WRAPPER_MAGIC};
use crate::budget::Budget;
use crate::reader::Reader;
use crate::{Error, ErrorKind, Result};
use core::fmt;

const STRTAB_BLOCK: u64 = 23;
const SYMTAB_BLOCK: u64 = 25;
/// The code of the only record in a symbol table or string table block.
const BLOB_RECORD: u64 = 1;

pub(super) const ENTER_SUBBLOCK: u64 = 1;
pub(super) const DEFINE_ABBREV: u64 = 2;
/// The ID of the first abbreviation that a block defines; smaller IDs have fixed meanings.
pub(super) const FIRST_ABBREV: u64 = 4;
const ENCODING_BLOB: u64 = 5;

const VERSIONS: core::ops::RangeInclusive<u64> = 1..=3;
const SYMBOLS_FIELD: u64 = 28;
const TRIPLE_FIELD: u64 = 44;
const SYMBOL_SIZE: u64 = 24;
const FLAG_UNDEFINED: u32 = 1 << 3;
const FLAG_GLOBAL: u32 = 1 << 10;
const FLAG_FORMAT_SPECIFIC: u32 = 1 << 11;

/// The limit on the total size of all names, as a multiple of the file's size. Names may share
/// bytes in the file, so without a limit, reading a small table could take a very long time.
pub(super) const MAX_SHARING: u64 = 64;

/// A bitcode file whose blocks and symbol table have been checked.
#[derive(Clone, Copy)]
pub struct Bitcode<'data> {
    table: Option<SymbolTable<'data>>,
}

impl<'data> Bitcode<'data> {
    /// Whether `data` starts with the magic of a bitcode file.
    pub fn is_bitcode(data: &[u8]) -> bool {
        super::is_bitcode(data)
    }

    /// Checks the top-level blocks and the symbol table, but does not read the contents of modules.
    /// The result borrows from `data`.
    ///
    /// Returns an error if the file does not start with the magic, if a block or the symbol table
    /// is malformed, or if the symbol table's version is unknown. Also returns an error if the
    /// names are, in total, more than 64 times as long as the file.
    pub fn parse(data: &'data [u8]) -> Result<Self> {
        let (stream, base) = stream(data)?;
        let table = find_table(Reader::new(stream)).map_err(|error| error.shifted(base))?;
        let what = "bitcode symbol table (symbols share too much text)";
        let mut budget = Budget::new(stream.len() as u64, MAX_SHARING, what);
        for (table, index) in
            table.iter().flat_map(|table| (0..table.count).map(move |index| (table, index)))
        {
            let (name, _) = table.symbol(index).map_err(|error| error.in_entry(index))?;
            budget.spend(name.len() as u64).map_err(|error| error.shifted(base))?;
        }
        Ok(Self { table })
    }

    /// Returns the target triple that the file was compiled for; `None` if the file has no triple
    /// or no symbol table.
    pub fn target_triple(&self) -> Option<&'data str> {
        self.table?.triple().filter(|triple| !triple.is_empty())
    }

    /// Returns the names of the defined global symbols, as a linker spells them, including weak
    /// symbols, aliases, and definitions in the module's assembly. LLVM's archives list the same
    /// names in the same order.
    ///
    /// Yields nothing if the file has no symbol table: LLVM writes none for targets that it was
    /// built without, `llvm-cat` drops the table, and LLVM 4 and earlier did not have one.
    ///
    /// ```no_run
    /// # fn main() -> offload_format::Result<()> { let file: Vec<u8> = Vec::new();
    /// use offload_format::image::Bitcode;
    ///
    /// for name in Bitcode::parse(&file)?.defined_globals() {
    ///     println!("{}", name.escape_ascii());
    /// }
    /// # Ok(()) }
    /// ```
    #[inline]
    pub fn defined_globals(&self) -> impl Iterator<Item = &'data [u8]> + use<'data> {
        let table = self.table;
        (0..table.map_or(0, |table| table.count)).filter_map(move |index| {
            // This cannot fail: `Bitcode::parse` has read every symbol.
            let (name, flags) = table?.symbol(index).ok()?;
            let is_defined =
                flags & (FLAG_GLOBAL | FLAG_UNDEFINED | FLAG_FORMAT_SPECIFIC) == FLAG_GLOBAL;
            is_defined.then_some(name)
        })
    }
}

impl fmt::Debug for Bitcode<'_> {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.defined_globals().map(<[u8]>::escape_ascii)).finish()
    }
}

/// Returns the bit stream in a bitcode file, and its offset.
pub(super) fn stream(data: &[u8]) -> Result<(&[u8], u64)> {
    let reader = Reader::new(data);
    let (mut stream, mut base) = (data, 0);
    if data.starts_with(WRAPPER_MAGIC) {
        let size = reader.u32(12, "bitcode size")?.into();
        base = reader.u32(8, "bitcode offset")?.into();
        stream = reader.range(base, size, 8, "bitcode")?;
    }
    if !stream.starts_with(MAGIC) {
        return Err(Error::new(ErrorKind::BadMagic, "bitcode magic", base));
    }
    match data.len() % 4 {
        0 => Ok((stream, base)),
        _ => Err(Error::new(ErrorKind::Malformed, "bitcode size (not a multiple of 4)", base)),
    }
}

/// A symbol table with its string table.
#[derive(Clone, Copy)]
struct SymbolTable<'data> {
    blob: Reader<'data>,
    strings: Reader<'data>,
    symbols: u64,
    count: u64,
}

impl<'data> SymbolTable<'data> {
    fn parse(blob: &'data [u8], strings: &'data [u8]) -> Result<Self> {
        let blob = Reader::new(blob);
        let version = blob.u32(0, "bitcode symbol table version")?.into();
        if !VERSIONS.contains(&version) {
            return Err(Error::new(
                ErrorKind::UnsupportedVersion { version },
                "bitcode symbol table version",
                0,
            ));
        }
        let symbols = blob.u32(SYMBOLS_FIELD, "bitcode symbol table")?.into();
        let count = blob.u32(SYMBOLS_FIELD + 4, "bitcode symbol count")?.into();
        blob.range(symbols, count * SYMBOL_SIZE, SYMBOLS_FIELD, "bitcode symbols")?;
        Ok(Self { blob, strings: Reader::new(strings), symbols, count })
    }

    fn triple(&self) -> Option<&'data str> {
        const WHAT: &str = "bitcode target triple";
        let offset = self.blob.u32(TRIPLE_FIELD, WHAT).ok()?.into();
        let size = self.blob.u32(TRIPLE_FIELD + 4, WHAT).ok()?.into();
        str::from_utf8(self.strings.range(offset, size, TRIPLE_FIELD, WHAT).ok()?).ok()
    }

    fn symbol(&self, index: u64) -> Result<(&'data [u8], u32)> {
        const NAME: &str = "bitcode symbol name";
        let at = self.symbols + index * SYMBOL_SIZE;
        let offset = self.blob.u32(at, NAME)?.into();
        let name = self.strings.range(offset, self.blob.u32(at + 4, NAME)?.into(), at, NAME)?;
        Ok((name, self.blob.u32(at + 20, "bitcode symbol flags")?))
    }
}

/// Finds the symbol table among the top-level blocks. Its strings are in the next string table.
fn find_table(stream: Reader<'_>) -> Result<Option<SymbolTable<'_>>> {
    let (mut symbols, mut found) = (None, None);
    for block in blocks(stream) {
        let block = block?;
        match (block.id, symbols) {
            (SYMTAB_BLOCK, _) => symbols = Some(block.blob()?),
            (STRTAB_BLOCK, Some(symbols)) if found.is_none() => {
                found = Some(SymbolTable::parse(symbols, block.blob()?)?);
            }
            _ => {}
        }
    }
    Ok(found)
}

/// Returns the top-level blocks, up to the first malformed one.
pub(super) fn blocks(stream: Reader<'_>) -> impl Iterator<Item = Result<Block<'_>>> {
    let mut at = MAGIC.len() as u64;
    core::iter::from_fn(move || {
        // Remaining bytes are padding if they are too few for a block.
        if at.saturating_add(8) >= stream.len() {
            return None;
        }
        let block = Block::read(stream, at);
        at = block.as_ref().map_or(u64::MAX, |block| block.start + block.size);
        Some(block)
    })
}

/// A block of the stream.
pub(super) struct Block<'data> {
    pub(super) id: u64,
    /// The offset of the block's contents in the stream, in bytes.
    start: u64,
    /// The size of the block's contents, in bytes.
    size: u64,
    pub(super) content: Bits<'data>,
}

impl<'data> Block<'data> {
    fn read(stream: Reader<'data>, at: u64) -> Result<Self> {
        let mut bits = Bits { stream, at: at.saturating_mul(8), abbrev_width: 2 };
        if bits.abbreviation()? != ENTER_SUBBLOCK {
            return Err(Error::new(ErrorKind::Malformed, "bitcode outside of blocks", at));
        }
        Self::enter(bits)
    }

    /// Reads a block's header, which follows the abbreviation ID at the start of the block.
    pub(super) fn enter(mut bits: Bits<'data>) -> Result<Self> {
        let at = bits.at / 8;
        let id = bits.variable(8)?;
        bits.abbrev_width = bits.variable(4)?;
        bits.align();
        let size = 4 * bits.fixed(32)?;
        let start = bits.at / 8;
        bits.stream.range(start, size, at, "bitcode block")?;
        Ok(Self { id, start, size, content: bits })
    }

    pub(super) fn end(&self) -> u64 {
        (self.start + self.size).saturating_mul(8)
    }

    /// Returns the blob of a block with a single record and its abbreviation, which is how LLVM
    /// writes symbol tables and string tables.
    fn blob(&self) -> Result<&'data [u8]> {
        let mut bits = self.content;
        let wrong =
            || Error::new(ErrorKind::Malformed, "bitcode symbol or string table", self.start);
        // The block defines one abbreviation with two operands: the record's code and a blob.
        let definition = bits.abbreviation()? == DEFINE_ABBREV
            && bits.variable(5)? == 2
            && (bits.fixed(1)?, bits.variable(8)?) == (1, BLOB_RECORD)
            && (bits.fixed(1)?, bits.fixed(3)?) == (0, ENCODING_BLOB);
        if !definition || bits.abbreviation()? != FIRST_ABBREV {
            return Err(wrong());
        }
        let size = bits.variable(6)?;
        bits.align();
        let blob = bits.stream.range(bits.at / 8, size, self.start, "bitcode blob")?;
        if bits.at / 8 + size > self.end() / 8 { Err(wrong()) } else { Ok(blob) }
    }
}

/// A bit reader that starts with the lowest bit of each byte.
#[derive(Clone, Copy)]
pub(super) struct Bits<'data> {
    pub(super) stream: Reader<'data>,
    /// The current position, in bits.
    pub(super) at: u64,
    /// The width of abbreviation IDs in bits.
    abbrev_width: u64,
}

impl Bits<'_> {
    /// Reads the next `width` bits, at most 32.
    pub(super) fn fixed(&mut self, width: u64) -> Result<u64> {
        let (mut value, mut read) = (0, 0);
        while read < width {
            let byte = u64::from(self.stream.u8(self.at / 8, "bitcode")?) >> (self.at % 8);
            let step = (8 - self.at % 8).min(width - read);
            value |= (byte & ((1 << step) - 1)) << read;
            read += step;
            self.at += step;
        }
        Ok(value)
    }

    /// Reads a number of up to 64 bits in chunks of `width` bits (2 to 32). A chunk whose highest
    /// bit is set is followed by another chunk.
    pub(super) fn variable(&mut self, width: u64) -> Result<u64> {
        let (more, mut value, mut shift) = (1 << (width - 1), 0, 0);
        loop {
            let chunk = self.fixed(width)?;
            value |= (chunk & (more - 1)) << shift;
            if chunk & more == 0 {
                return Ok(value);
            }
            shift += width - 1;
            if shift >= 64 {
                return Err(self.malformed("number in bitcode"));
            }
        }
    }

    pub(super) fn abbreviation(&mut self) -> Result<u64> {
        match self.abbrev_width {
            0..=32 => self.fixed(self.abbrev_width),
            _ => Err(self.malformed("width of abbreviations in bitcode")),
        }
    }

    /// Moves to the next multiple of 32 bits.
    pub(super) fn align(&mut self) {
        self.at = self.at.next_multiple_of(32);
    }

    /// Returns an error saying that `what` is malformed at the current position.
    pub(super) fn malformed(&self, what: &'static str) -> Error {
        Error::new(ErrorKind::Malformed, what, self.at / 8)
    }
}

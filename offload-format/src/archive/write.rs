//! Writes GNU archives. `darwin.rs` writes libraries for Apple's linkers.

use super::{HEADER_END, HEADER_SIZE, MAGIC, MAX_SIZE};
use crate::layout::{Layout, Piece};
use alloc::format;
use alloc::vec::Vec;
use core::fmt;

/// Collects members and lays them out as the GNU archive that LLVM 22 would write. It has a symbol
/// table if any member is an object, and a table of long names if any name is long. Members are
/// stored in the order of the calls. Time stamps, owners and groups are 0, so the same members
/// always produce the same bytes.
///
/// The builder needs only the members' sizes: their bytes come from memory or files when the
/// [`Layout`] is written.
#[derive(Debug, Clone, Default)]
pub struct ArchiveBuilder {
    /// Each member's name field and size.
    members: Vec<(Vec<u8>, u64)>,
    names: Vec<u8>,
    /// The long names with their offsets in `names`, sorted by name.
    name_offsets: Vec<(Vec<u8>, usize)>,
    /// For each symbol, the number of its defining member.
    symbols: Vec<usize>,
    symbol_names: Vec<u8>,
    has_object: bool,
}

/// The reason a member cannot be added.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum WriteError {
    /// The name is empty, or contains a line end, which would terminate it in the archive.
    Name(Vec<u8>),
    /// A symbol's name contains a NUL, which would terminate it in the archive.
    SymbolName(Vec<u8>),
    /// The member's size has more than the format's 10 digits.
    Size(u64),
}

impl fmt::Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WriteError::Name(name) => {
                write!(
                    f,
                    "the member name '{}' is empty or contains a line end",
                    name.escape_ascii()
                )
            }
            WriteError::SymbolName(name) => {
                write!(f, "the symbol name '{}' contains a NUL", name.escape_ascii())
            }
            WriteError::Size(size) => {
                write!(
                    f,
                    "an archive member of {size} bytes is too large: the format allows at most \
                     {MAX_SIZE}"
                )
            }
        }
    }
}

impl core::error::Error for WriteError {}

/// The length of the longest name that fits into the header.
const MAX_SHORT_NAME: usize = 15;
/// The first offset that does not fit into 32 bits. If any member starts at or after it, the symbol
/// table uses 64-bit offsets.
const OFFSETS_64: u64 = 1 << 32;

impl ArchiveBuilder {
    /// Returns a builder for an empty archive.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a member of `size` bytes that is not an object file. Several members may have the same
    /// name.
    ///
    /// Returns an error if the format cannot store the size or the name.
    pub fn member(&mut self, name: impl AsRef<[u8]>, size: u64) -> Result<&mut Self, WriteError> {
        let name = name.as_ref();
        if name.is_empty() || name.contains(&b'\n') {
            return Err(WriteError::Name(name.into()));
        }
        if size > MAX_SIZE {
            return Err(WriteError::Size(size));
        }
        // As the first member's name, `__.SYMDEF` or the like would be mistaken for BSD's symbol
        // table, so it goes into the table of long names.
        let is_short = name.len() <= MAX_SHORT_NAME
            && !name.contains(&b'/')
            && !name.starts_with(b"__.SYMDEF");
        let field = if is_short {
            [name, b"/"].concat()
        } else {
            // Store each name only once.
            let known = self.name_offsets.binary_search_by(|(known, _)| known[..].cmp(name));
            let place = known.unwrap_or_else(|place| {
                self.name_offsets.insert(place, (name.to_vec(), self.names.len()));
                self.names.extend_from_slice(name);
                self.names.extend_from_slice(b"/\n");
                place
            });
            format!("/{}", self.name_offsets[place].1).into_bytes()
        };
        self.members.push((field, size));
        Ok(self)
    }

    /// Adds an object file (machine code or bitcode) of `size` bytes that defines `symbols`. An
    /// archive with at least one object has a symbol table, even if `symbols` is empty for every
    /// object.
    ///
    /// Returns an error if the format cannot store the size or a name.
    pub fn object<S: AsRef<[u8]>>(
        &mut self,
        name: impl AsRef<[u8]>,
        size: u64,
        symbols: impl IntoIterator<Item = S>,
    ) -> Result<&mut Self, WriteError> {
        let mut text = Vec::new();
        let mut count = 0;
        for symbol in symbols {
            let symbol = symbol.as_ref();
            if symbol.contains(&0) {
                return Err(WriteError::SymbolName(symbol.into()));
            }
            text.extend_from_slice(symbol);
            text.push(0);
            count += 1;
        }
        self.member(name, size)?;
        self.symbols.extend(core::iter::repeat_n(self.members.len() - 1, count));
        self.symbol_names.extend_from_slice(&text);
        self.has_object = true;
        Ok(self)
    }

    /// Returns the archive's layout. Payloads are numbered like the members, from 0.
    pub fn layout(&self) -> Layout {
        let mut names = Vec::new();
        if !self.names.is_empty() {
            // The table of long names is not a file, so its header contains only a name and a size.
            let size = self.names.len().next_multiple_of(2);
            names = format!("{:<48}{size:<10}", "//").into_bytes();
            names.extend_from_slice(HEADER_END);
            names.extend_from_slice(&self.names);
            names.resize(HEADER_SIZE as usize + size, b'\n');
        }
        // Offsets relative to the first member, whose own offset depends on the width of the symbol
        // table's numbers.
        let mut offsets = Vec::with_capacity(self.members.len());
        let mut end = 0;
        for (_, size) in &self.members {
            offsets.push(end);
            end += HEADER_SIZE + size.next_multiple_of(2);
        }
        let first = |width| {
            let table = HEADER_SIZE + self.symbol_table_content_size(width);
            let table = if self.has_object { table } else { 0 };
            MAGIC.len() as u64 + table + names.len() as u64
        };
        let wide = offsets.last().is_some_and(|last| first(4) + last >= OFFSETS_64);
        let width = if wide { 8 } else { 4 };

        let mut bytes = Vec::from(MAGIC);
        self.write_symbol_table(&mut bytes, width, |member| first(width) + offsets[member]);
        bytes.extend_from_slice(&names);
        let mut layout = Layout::new();
        for (index, (name, size)) in self.members.iter().enumerate() {
            bytes.extend_from_slice(&member_header(name, "644", *size));
            layout.push(Piece::Bytes(core::mem::take(&mut bytes)));
            layout.push(Piece::Payload { index, size: *size });
            if size % 2 == 1 {
                bytes.push(b'\n');
            }
        }
        layout.push(Piece::Bytes(bytes));
        layout
    }

    fn symbol_table_content_size(&self, width: u64) -> u64 {
        // An empty table has three zero bytes in place of the names, as old tools expect.
        let names = if self.symbols.is_empty() { 3 } else { self.symbol_names.len() as u64 };
        (width * (1 + self.symbols.len() as u64) + names).next_multiple_of(2)
    }

    /// Writes the symbol table: the number of symbols, then for each symbol the offset of its
    /// member's header, then the symbols' names. The numbers are big-endian.
    fn write_symbol_table(&self, out: &mut Vec<u8>, width: u64, offset: impl Fn(usize) -> u64) {
        if !self.has_object {
            return;
        }
        let size = self.symbol_table_content_size(width);
        // The table is not a file, so its mode is 0.
        out.extend_from_slice(&member_header(
            if width == 8 { b"/SYM64/" } else { b"/" },
            "0",
            size,
        ));
        let end = out.len() + size as usize;
        let count = self.symbols.len() as u64;
        for number in
            core::iter::once(count).chain(self.symbols.iter().map(|member| offset(*member)))
        {
            out.extend_from_slice(&number.to_be_bytes()[8 - width as usize..]);
        }
        out.extend_from_slice(&self.symbol_names);
        out.resize(end, 0);
    }
}

/// Lays out an archive with one member and one symbol, which `rustc` and linkers read as
/// `lib<name>.a`. The member is payload 0, `size` bytes long. `member` is the file name that
/// linkers print.
///
/// # Panics
/// Panics if `member` is empty or contains a line end, if `symbol` contains a NUL, or if `size`
/// exceeds the format's 10 digits.
pub fn write_library(member: &str, symbol: &str, size: u64) -> Layout {
    let mut builder = ArchiveBuilder::new();
    match builder.object(member, size, [symbol]) {
        Ok(builder) => builder.layout(),
        Err(error) => panic!("{error}"),
    }
}

pub(super) fn member_header(name: &[u8], mode: &str, size: u64) -> Vec<u8> {
    let mut header = name.to_vec();
    header.resize(16, b' ');
    header.extend_from_slice(format!("{:<12}{:<6}{:<6}{mode:<8}{size:<10}", 0, 0, 0).as_bytes());
    header.extend_from_slice(HEADER_END);
    header
}

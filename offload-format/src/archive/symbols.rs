//! Symbol tables of archives.

use super::ArchiveKind;
use crate::reader::Reader;
use crate::{Error, ErrorKind, Result};
use core::fmt;

/// One entry of an archive's symbol table.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Symbol<'data> {
    name: &'data [u8],
    member_offset: u64,
}

impl<'data> Symbol<'data> {
    /// Returns the symbol's name.
    pub fn name(&self) -> &'data [u8] {
        self.name
    }

    /// Returns the offset in bytes of the header of the member that defines the symbol, as the
    /// table records it. [`super::Archive::member_at`] accepts this offset.
    pub fn member_offset(&self) -> u64 {
        self.member_offset
    }
}

impl fmt::Debug for Symbol<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} in the member at {}", self.name.escape_ascii(), self.member_offset)
    }
}

/// The entries of a symbol table; returned by [`super::Archive::symbols`].
#[derive(Clone)]
pub struct Symbols<'data> {
    table: Table<'data>,
    index: u64,
    /// The start of the next name, if the names are in the order of the symbols.
    name_at: u64,
}

/// A symbol table, with the offsets of its parts.
#[derive(Clone, Copy)]
struct Table<'data> {
    form: Form,
    bytes: Reader<'data>,
    count: u64,
    /// The start of the members' offsets, or of BSD's pairs.
    offsets: u64,
    /// The start of the names.
    names: u64,
    /// The end of the names.
    end: u64,
}

/// The form in which a table refers to members. A width is the size of a number in bytes: 4 or 8.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Gnu {
        width: u64,
    },
    Bsd {
        width: u64,
    },
    /// Microsoft's form: each symbol has the number of a member, and a separate list contains the
    /// offset of each member.
    Coff {
        members: u64,
    },
}

/// The limit for all names together, as a multiple of the table's size. Names may share text, so a
/// small table could otherwise cause much work.
const MAX_SHARING: u64 = 64;

/// Checks all entries of the symbol table in `bytes`, and returns them.
pub(super) fn read(kind: ArchiveKind, bytes: &[u8]) -> Result<Symbols<'_>> {
    let table = Table::parse(kind, bytes)?;
    let mut symbols = Symbols { table, index: 0, name_at: 0 };
    let mut budget = MAX_SHARING.saturating_mul(bytes.len() as u64);
    while symbols.index < table.count {
        let index = symbols.index;
        let symbol = symbols.read_next().map_err(|error| error.in_entry(index))?;
        budget = budget.checked_sub(symbol.name.len() as u64).ok_or_else(|| {
            Error::new(ErrorKind::Malformed, "archive symbols that share too much text", 0)
        })?;
    }
    Ok(Symbols { table, index: 0, name_at: 0 })
}

impl<'data> Table<'data> {
    fn parse(kind: ArchiveKind, data: &'data [u8]) -> Result<Self> {
        const COUNT: &str = "archive symbol count";
        const NAMES: &str = "archive symbol names";
        let bytes = Reader::new(data);
        let (form, count, offsets, names) = match kind {
            ArchiveKind::Gnu | ArchiveKind::Gnu64 => {
                let width = if kind == ArchiveKind::Gnu { 4 } else { 8 };
                let count = big_endian(&bytes, 0, width, COUNT)?;
                let size = count.saturating_mul(width);
                bytes.range(width, size, 0, "archive symbol offsets")?;
                (Form::Gnu { width }, count, width, width + size)
            }
            ArchiveKind::Bsd | ArchiveKind::Darwin64 => {
                let width = if kind == ArchiveKind::Bsd { 4 } else { 8 };
                let size = little_endian(&bytes, 0, width, "size of the archive symbols")?;
                bytes.range(width, size, 0, "archive symbols")?;
                let names_size =
                    little_endian(&bytes, width + size, width, "size of the archive symbol names")?;
                let names = 2 * width + size;
                bytes.range(names, names_size, width + size, NAMES)?;
                let form = Form::Bsd { width };
                return Ok(Self {
                    form,
                    bytes,
                    count: size / (2 * width),
                    offsets: width,
                    names,
                    end: names + names_size,
                });
            }
            ArchiveKind::Coff => {
                let members = bytes.u32(0, "archive member count")?.into();
                let count_at = 4 + 4 * members;
                let count = u64::from(bytes.u32(count_at, COUNT)?);
                bytes.range(count_at + 4, 2 * count, count_at, "archive symbols")?;
                (Form::Coff { members }, count, 4, count_at + 4 + 2 * count)
            }
        };
        Ok(Self { form, bytes, count, offsets, names, end: bytes.len() })
    }

    /// Reads symbol number `index`. `name_at` is the start of its name, for tables that do not
    /// record this place because the names are in the order of the symbols.
    fn read(&self, index: u64, mut name_at: u64) -> Result<Symbol<'data>> {
        const OFFSET: &str = "archive symbol offset";
        const NAME: &str = "name of an archive symbol";
        let number_at = |number: u64, width: u64| self.offsets + number * width;
        let member_offset = match self.form {
            Form::Gnu { width } => big_endian(&self.bytes, number_at(index, width), width, OFFSET)?,
            Form::Bsd { width } => {
                let field = number_at(2 * index, width);
                name_at = little_endian(&self.bytes, field, width, OFFSET)?;
                // A name after the table may be after the file, so the error is at the number.
                if self.names.saturating_add(name_at) > self.end {
                    return Err(Error::new(ErrorKind::Malformed, NAME, field));
                }
                little_endian(&self.bytes, number_at(2 * index + 1, width), width, OFFSET)?
            }
            Form::Coff { members } => {
                let field = number_at(members, 4) + 4 + 2 * index;
                let member = u64::from(self.bytes.u16(field, "number of an archive member")?);
                let wrong =
                    || Error::new(ErrorKind::Malformed, "number of an archive member", field);
                let member = member.checked_sub(1).filter(|it| *it < members).ok_or_else(wrong)?;
                self.bytes.u32(number_at(member, 4), OFFSET)?.into()
            }
        };
        let start = self.names.saturating_add(name_at);
        let wrong = || Error::new(ErrorKind::Malformed, NAME, start);
        let text = self.end.checked_sub(start).ok_or_else(wrong)?;
        let text = self.bytes.range(start, text, start, NAME)?;
        let name = text
            .split(|byte| *byte == 0)
            .next()
            .filter(|name| name.len() < text.len())
            .ok_or_else(wrong)?;
        Ok(Symbol { name, member_offset })
    }
}

fn little_endian(reader: &Reader<'_>, at: u64, width: u64, what: &'static str) -> Result<u64> {
    if width == 8 { reader.u64(at, what) } else { reader.u32(at, what).map(u64::from) }
}

fn big_endian(reader: &Reader<'_>, at: u64, width: u64, what: &'static str) -> Result<u64> {
    Ok(if width == 8 {
        reader.u64(at, what)?.swap_bytes()
    } else {
        reader.u32(at, what)?.swap_bytes().into()
    })
}

impl<'data> Symbols<'data> {
    /// Returns the entries of an empty table.
    pub(super) fn none() -> Self {
        let form = Form::Gnu { width: 4 };
        let table = Table { form, bytes: Reader::new(b""), count: 0, offsets: 0, names: 0, end: 0 };
        Self { table, index: 0, name_at: 0 }
    }

    fn read_next(&mut self) -> Result<Symbol<'data>> {
        let symbol = self.table.read(self.index, self.name_at)?;
        self.index += 1;
        self.name_at += symbol.name.len() as u64 + 1;
        Ok(symbol)
    }
}

impl<'data> Iterator for Symbols<'data> {
    type Item = Symbol<'data>;

    fn next(&mut self) -> Option<Self::Item> {
        // This cannot fail, because `read` in this file has read every entry.
        if self.index < self.table.count { self.read_next().ok() } else { None }
    }
}

impl fmt::Debug for Symbols<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.clone()).finish()
    }
}

//! Views of an archive.

use super::symbols::{self, Symbols};
use super::{HEADER_END, HEADER_SIZE, MAGIC, THIN_MAGIC};
use crate::reader::Reader;
use crate::{Error, ErrorKind, Result};
use core::fmt;

/// The variant of the format: how names and symbols are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ArchiveKind {
    /// The variant of GNU and LLVM on ELF systems; also every archive without a symbol table or a
    /// long name.
    Gnu,
    /// GNU's variant with a symbol table of 64-bit offsets.
    Gnu64,
    /// The variant of BSD and Darwin.
    Bsd,
    /// Darwin's variant with a symbol table of 64-bit offsets.
    Darwin64,
    /// Microsoft's variant (`.lib`).
    Coff,
}

/// The longest name that is read from the table of long names. Many members may refer to the same
/// bytes, so longer names could cause much work.
const MAX_LONG_NAME: u64 = 4096;

/// An archive whose member headers have been checked.
#[derive(Clone, Copy)]
pub struct Archive<'data> {
    data: &'data [u8],
    kind: ArchiveKind,
    thin: bool,
    /// The table of long names.
    names: &'data [u8],
    /// The offset of the symbol table's bytes, and the bytes.
    symbol_table: Option<(u64, &'data [u8])>,
    /// The offset of the first member's header, after the tables.
    first: u64,
}

impl<'data> Archive<'data> {
    /// Checks the headers and names of all members, and borrows from `data`.
    ///
    /// Returns an error if `data` does not start like an archive, if a header is malformed, or if a
    /// member ends outside `data`. A name that cannot be found is also an error. Names of more than
    /// 4096 bytes in the table of long names are not found.
    ///
    /// ```
    /// use offload_format::archive::{Archive, ArchiveBuilder};
    ///
    /// let mut builder = ArchiveBuilder::new();
    /// builder.object("saxpy.o", 6, ["saxpy"]).unwrap();
    /// let file = builder.layout().to_vec(&[b"object"]);
    ///
    /// let archive = Archive::parse(&file).unwrap();
    /// let member = archive.members().next().unwrap();
    /// assert_eq!((member.name(), member.data()), (&b"saxpy.o"[..], Some(&b"object"[..])));
    /// let symbol = archive.symbols().unwrap().next().unwrap();
    /// assert_eq!(archive.member_at(symbol.member_offset()).unwrap().name(), b"saxpy.o");
    /// ```
    pub fn parse(data: &'data [u8]) -> Result<Self> {
        let magic = Reader::new(data).bytes(0, MAGIC.len() as u64, "archive magic")?;
        let thin = magic == THIN_MAGIC;
        if !thin && magic != MAGIC {
            return Err(Error::new(ErrorKind::BadMagic, "archive magic", 0));
        }
        let first = MAGIC.len() as u64;
        let mut archive =
            Self { data, kind: ArchiveKind::Gnu, thin, names: b"", symbol_table: None, first };
        archive.read_tables()?;
        let (mut at, mut index) = (archive.first, 0);
        while at < data.len() as u64 {
            let (_, next) = archive.read_member(at).map_err(|error| error.in_entry(index))?;
            (at, index) = (next, index + 1);
        }
        Ok(archive)
    }

    /// Determines the kind from the tables at the start, and moves past them.
    fn read_tables(&mut self) -> Result<()> {
        let Some(header) = self.header_at(self.first)? else { return Ok(()) };
        if header.name.starts_with(b"__.SYMDEF") || header.name.starts_with(b"#1/") {
            self.kind = ArchiveKind::Bsd;
            let (member, next) = self.read_member(self.first)?;
            let data_at = header.at + HEADER_SIZE + header.size - member.size;
            self.kind = match member.name {
                b"__.SYMDEF" | b"__.SYMDEF SORTED" => ArchiveKind::Bsd,
                b"__.SYMDEF_64" | b"__.SYMDEF_64 SORTED" => ArchiveKind::Darwin64,
                _ => return Ok(()),
            };
            self.symbol_table = Some((data_at, member.data.unwrap_or(b"")));
            self.first = next;
            return Ok(());
        }
        let mut header = Some(header);
        if let Some(table) = header.filter(|it| matches!(it.name, b"/" | b"/SYM64/")) {
            self.kind = if table.name == b"/" { ArchiveKind::Gnu } else { ArchiveKind::Gnu64 };
            self.symbol_table = Some((table.at + HEADER_SIZE, self.take_table(table)?));
            header = self.header_at(self.first)?;
            if let Some(second) = header.filter(|it| table.name == b"/" && it.name == b"/") {
                self.kind = ArchiveKind::Coff;
                self.symbol_table = Some((second.at + HEADER_SIZE, self.take_table(second)?));
                header = self.header_at(self.first)?;
            }
        }
        if let Some(names) = header.filter(|it| it.name == b"//") {
            self.names = self.take_table(names)?;
            header = self.header_at(self.first)?;
        }
        // Further tables are symbol tables of ARM64EC code, which are not needed to read members.
        while let Some(map) =
            header.filter(|it| self.kind == ArchiveKind::Coff && it.name.starts_with(b"/<"))
        {
            self.take_table(map)?;
            header = self.header_at(self.first)?;
        }
        Ok(())
    }

    /// Returns the bytes of a table, and sets the start of the first member to the end of the
    /// table.
    fn take_table(&mut self, table: Header<'data>) -> Result<&'data [u8]> {
        self.first = table.next();
        Reader::new(self.data).range(
            table.at + HEADER_SIZE,
            table.size,
            table.at + SIZE_FIELD,
            "archive table",
        )
    }

    fn header_at(&self, at: u64) -> Result<Option<Header<'data>>> {
        if at >= self.data.len() as u64 { Ok(None) } else { Header::read(self.data, at).map(Some) }
    }

    /// Reads the member whose header is at `at`; returns it and the offset of the next header.
    fn read_member(&self, at: u64) -> Result<(Member<'data>, u64)> {
        let header = Header::read(self.data, at)?;
        let reader = Reader::new(self.data);
        let data_at = at + HEADER_SIZE;
        if self.thin && !matches!(header.name, b"/" | b"//" | b"/SYM64/") {
            let name = self.name(&header)?;
            return Ok((Member { header, name, size: header.size, data: None }, data_at));
        }
        let data = reader.range(data_at, header.size, at + SIZE_FIELD, "archive member")?;
        let Some(name_size) = header.name.strip_prefix(b"#1/") else {
            let name = self.name(&header)?;
            return Ok((
                Member { header, name, size: header.size, data: Some(data) },
                header.next(),
            ));
        };
        let name_size = number(name_size, 10).ok_or_else(|| {
            Error::new(ErrorKind::Malformed, "size of an archive member's name", at)
        })?;
        let inner = Reader::new(data);
        let name = trimmed(inner.range(0, name_size, at, "archive member's name")?, 0);
        let size = header.size - name_size;
        let data = inner.range(name_size, size, at, "archive member's data")?;
        Ok((Member { header, name, size, data: Some(data) }, header.next()))
    }

    fn is_bsd(&self) -> bool {
        matches!(self.kind, ArchiveKind::Bsd | ArchiveKind::Darwin64)
    }

    /// Returns the name that the header's first field contains or refers to.
    fn name(&self, header: &Header<'data>) -> Result<&'data [u8]> {
        let field = header.name;
        let Some(digits) =
            field.strip_prefix(b"/").filter(|_| !self.is_bsd()).filter(|it| !it.is_empty())
        else {
            // Slashes end names, except in BSD's archives.
            return Ok(if self.is_bsd() {
                field
            } else {
                field.strip_suffix(b"/").unwrap_or(field)
            });
        };
        let wrong =
            || Error::new(ErrorKind::Malformed, "long name of an archive member", header.at);
        let start = number(digits, 10).ok_or_else(wrong)?;
        let rest = (self.names.len() as u64).saturating_sub(start);
        let size = rest.min(MAX_LONG_NAME + 2);
        let text = Reader::new(self.names).range(
            start,
            size,
            header.at,
            "long name of an archive member",
        )?;
        let end = if self.kind == ArchiveKind::Coff { 0 } else { b'\n' };
        let name = text
            .split(|byte| *byte == end)
            .next()
            .filter(|name| name.len() < text.len())
            .ok_or_else(wrong)?;
        if self.kind == ArchiveKind::Coff {
            Ok(name)
        } else {
            name.strip_suffix(b"/").ok_or_else(wrong)
        }
    }

    /// Returns the variant of the format: how names and symbols are stored.
    pub fn kind(&self) -> ArchiveKind {
        self.kind
    }

    /// Whether the archive is thin: its members are in separate files, and their names are the
    /// paths of these files.
    pub fn is_thin(&self) -> bool {
        self.thin
    }

    /// Returns the members in file order, without the tables. More than one may have the same name.
    pub fn members(&self) -> Members<'data> {
        Members { archive: *self, at: self.first }
    }

    /// Returns the member whose header is at `offset`, a value from the symbol table.
    ///
    /// Returns an error if there is no such member.
    pub fn member_at(&self, offset: u64) -> Result<Member<'data>> {
        Ok(self.read_member(offset)?.0)
    }

    /// Returns the symbol table's entries in its order; none if there is no table.
    ///
    /// Returns an error if the table is malformed. Names may share text. If all names together have
    /// more than 64 times the table's size, that is also an error.
    pub fn symbols(&self) -> Result<Symbols<'data>> {
        let Some((at, table)) = self.symbol_table else { return Ok(Symbols::none()) };
        symbols::read(self.kind, table).map_err(|error| error.shifted(at))
    }
}

impl fmt::Debug for Archive<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.members()).finish()
    }
}

/// The members of an [`Archive`] in file order; returned by [`Archive::members`].
#[derive(Clone)]
pub struct Members<'data> {
    archive: Archive<'data>,
    at: u64,
}

impl<'data> Iterator for Members<'data> {
    type Item = Member<'data>;

    fn next(&mut self) -> Option<Self::Item> {
        // This cannot fail, because `Archive::parse` has read every member.
        let (member, next) = self.archive.read_member(self.at).ok()?;
        self.at = next;
        Some(member)
    }
}

impl fmt::Debug for Members<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.clone()).finish()
    }
}

/// One member of an archive.
#[derive(Clone, Copy)]
pub struct Member<'data> {
    header: Header<'data>,
    name: &'data [u8],
    size: u64,
    data: Option<&'data [u8]>,
}

impl<'data> Member<'data> {
    /// Returns the name. In a thin archive, this is the path of the member's file, relative to the
    /// archive's folder if it is not absolute.
    pub fn name(&self) -> &'data [u8] {
        self.name
    }

    /// Returns the header's name field without trailing spaces: `name/`, `/123`, `#1/20`.
    pub fn raw_name(&self) -> &'data [u8] {
        self.header.name
    }

    /// Returns the bytes; `None` in a thin archive.
    pub fn data(&self) -> Option<&'data [u8]> {
        self.data
    }

    /// Returns the size of the member in bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Returns the offset in bytes of the member's header from the start of the archive.
    pub fn offset(&self) -> u64 {
        self.header.at
    }

    /// Returns the offset in bytes of the member's data from the start of the archive. In a thin
    /// archive, this is where the data would be.
    pub fn data_offset(&self) -> u64 {
        // BSD's archives have the name between header and data, and include it in the size.
        self.header.at + HEADER_SIZE + (self.header.size - self.size)
    }

    /// Returns the time of the last change, in seconds since 1970; `None` if the field has no such
    /// number.
    pub fn modified(&self) -> Option<u64> {
        number(self.header.field(16, 28), 10)
    }

    /// Returns the owner's number; `None` if the field has no number.
    pub fn owner(&self) -> Option<u64> {
        number(self.header.field(28, 34), 10)
    }

    /// Returns the group's number; `None` if the field has no number.
    pub fn group(&self) -> Option<u64> {
        number(self.header.field(34, 40), 10)
    }

    /// Returns the file's mode bits; `None` if the field has no octal number.
    pub fn mode(&self) -> Option<u64> {
        number(self.header.field(40, 48), 8)
    }
}

impl fmt::Debug for Member<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({} bytes at {})", self.name.escape_ascii(), self.size, self.header.at)
    }
}

const SIZE_FIELD: u64 = 48;

/// A member's header.
#[derive(Clone, Copy)]
struct Header<'data> {
    at: u64,
    bytes: &'data [u8; HEADER_SIZE as usize],
    /// The name field without trailing spaces.
    name: &'data [u8],
    /// The size in the header, which includes a name in front of the data.
    size: u64,
}

impl<'data> Header<'data> {
    fn read(data: &'data [u8], at: u64) -> Result<Self> {
        let wrong = |what, field| Error::new(ErrorKind::Malformed, what, at.saturating_add(field));
        let bytes = Reader::new(data).bytes(at, HEADER_SIZE, "archive member header")?;
        let bytes: &[u8; HEADER_SIZE as usize] =
            bytes.try_into().map_err(|_| wrong("archive member header", 0))?;
        if !bytes.ends_with(HEADER_END) {
            return Err(wrong("end of an archive member header", HEADER_SIZE - 2));
        }
        let mut header = Self { at, bytes, name: b"", size: 0 };
        header.name = trimmed(header.field(0, 16), b' ');
        header.size = number(header.field(48, 58), 10)
            .ok_or_else(|| wrong("size of an archive member", SIZE_FIELD))?;
        Ok(header)
    }

    fn field(&self, from: usize, to: usize) -> &'data [u8] {
        &self.bytes[from..to]
    }

    /// Returns the offset of the next header: members start at even offsets.
    fn next(&self) -> u64 {
        // No overflow: the size has at most ten digits.
        self.at + HEADER_SIZE + self.size.next_multiple_of(2)
    }
}

fn trimmed(bytes: &[u8], pad: u8) -> &[u8] {
    let end = bytes.iter().rposition(|byte| *byte != pad).map_or(0, |last| last + 1);
    &bytes[..end]
}

/// Returns the number in a field that is padded with spaces.
fn number(field: &[u8], radix: u32) -> Option<u64> {
    let digits = trimmed(field, b' ');
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0u64, |sum, byte| {
        let digit = char::from(*byte).to_digit(radix)?;
        sum.checked_mul(radix.into())?.checked_add(digit.into())
    })
}

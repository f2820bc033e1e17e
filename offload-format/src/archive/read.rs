//! Views of an archive.

use super::{HEADER_END, HEADER_SIZE, MAGIC, THIN_MAGIC};
use crate::reader::Reader;
use crate::{Error, ErrorKind, Result};
use core::fmt;

/// How an archive stores names that do not fit into the header.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Names {
    Gnu,
    Bsd,
    Coff,
}

/// The maximum length of a name in the table of long names. Many members may share the same bytes,
/// so reading longer names could take a very long time.
const MAX_LONG_NAME: u64 = 4096;

/// An archive whose member headers have been checked.
#[derive(Clone, Copy)]
pub struct Archive<'data> {
    data: &'data [u8],
    kind: Names,
    thin: bool,
    /// The table of long names.
    names: &'data [u8],
    /// The offset of the first member's header, after the tables.
    first: u64,
}

impl<'data> Archive<'data> {
    /// Checks the headers and names of all members, and borrows from `data`.
    ///
    /// Returns an error if `data` does not start with an archive's magic, if a header is malformed,
    /// if a member ends outside `data`, or if a member's long name is not in the table of long
    /// names. Names in that table longer than 4096 bytes count as missing.
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
    /// assert_eq!((member.name, member.data), (&b"saxpy.o"[..], Some(&b"object"[..])));
    /// ```
    pub fn parse(data: &'data [u8]) -> Result<Self> {
        let magic = Reader::new(data).bytes(0, MAGIC.len() as u64, "archive magic")?;
        let thin = magic == THIN_MAGIC;
        if !thin && magic != MAGIC {
            return Err(Error::new(ErrorKind::BadMagic, "archive magic", 0));
        }
        let first = MAGIC.len() as u64;
        let mut archive = Self { data, kind: Names::Gnu, thin, names: b"", first };
        archive.read_tables()?;
        let (mut at, mut index) = (archive.first, 0);
        while at < data.len() as u64 {
            let (_, next) = archive.read_member(at).map_err(|error| error.in_entry(index))?;
            (at, index) = (next, index + 1);
        }
        Ok(archive)
    }

    /// Determines the archive's kind from the tables at its start, and moves `first` past these
    /// tables.
    fn read_tables(&mut self) -> Result<()> {
        let Some(header) = self.header_at(self.first)? else { return Ok(()) };
        if header.name.starts_with(b"__.SYMDEF") || header.name_size().is_some() {
            self.kind = Names::Bsd;
            let (member, next) = self.read_member(self.first)?;
            let name = member.name.strip_suffix(b" SORTED").unwrap_or(member.name);
            if matches!(name, b"__.SYMDEF" | b"__.SYMDEF_64") {
                self.first = next;
            }
            return Ok(());
        }
        let mut header = Some(header);
        if let Some(table) = header.filter(|it| matches!(it.name, b"/" | b"/SYM64/")) {
            self.take_table(table)?;
            header = self.header_at(self.first)?;
            if let Some(second) = header.filter(|it| table.name == b"/" && it.name == b"/") {
                self.kind = Names::Coff;
                self.take_table(second)?;
                header = self.header_at(self.first)?;
            }
        }
        if let Some(names) = header.filter(|it| it.name == b"//") {
            self.names = self.take_table(names)?;
            header = self.header_at(self.first)?;
        }
        // Skip the symbol tables of ARM64EC code.
        while let Some(map) =
            header.filter(|it| self.kind == Names::Coff && it.name.starts_with(b"/<"))
        {
            self.take_table(map)?;
            header = self.header_at(self.first)?;
        }
        Ok(())
    }

    /// Returns a table's bytes, and moves `first` past the table.
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

    /// Reads the member whose header is at `at`. Returns the member and the offset of the next
    /// header.
    fn read_member(&self, at: u64) -> Result<(Member<'data>, u64)> {
        let header = Header::read(self.data, at)?;
        let (size, data_offset) = (header.size, at + HEADER_SIZE);
        let member = |name, data| Member { name, size, data, offset: at, data_offset };
        if self.thin && !matches!(header.name, b"/" | b"//" | b"/SYM64/") {
            return Ok((member(self.name(&header)?, None), data_offset));
        }
        let data =
            Reader::new(self.data).range(data_offset, size, at + SIZE_FIELD, "archive member")?;
        let Some(name_size) = header.name_size() else {
            return Ok((member(self.name(&header)?, Some(data)), header.next()));
        };
        let inner = Reader::new(data);
        let name = trimmed(inner.range(0, name_size, at, "archive member's name")?, 0);
        let size = size - name_size;
        let data = inner.range(name_size, size, at, "archive member's data")?;
        let data_offset = data_offset + name_size;
        let member = Member { size, data_offset, ..member(name, Some(data)) };
        Ok((member, header.next()))
    }

    fn is_bsd(&self) -> bool {
        self.kind == Names::Bsd
    }

    /// Returns the name in the header's first field, or the long name that the field refers to.
    fn name(&self, header: &Header<'data>) -> Result<&'data [u8]> {
        let field = header.name;
        let Some(digits) =
            field.strip_prefix(b"/").filter(|_| !self.is_bsd()).filter(|it| !it.is_empty())
        else {
            // A slash ends a name, except in BSD archives.
            return Ok(if self.is_bsd() {
                field
            } else {
                field.strip_suffix(b"/").unwrap_or(field)
            });
        };
        let wrong =
            || Error::new(ErrorKind::Malformed, "long name of an archive member", header.at);
        let start = number(digits).ok_or_else(wrong)?;
        let rest = (self.names.len() as u64).saturating_sub(start);
        let size = rest.min(MAX_LONG_NAME + 2);
        let text = Reader::new(self.names).range(
            start,
            size,
            header.at,
            "long name of an archive member",
        )?;
        let end = if self.kind == Names::Coff { 0 } else { b'\n' };
        let name = text
            .split(|byte| *byte == end)
            .next()
            .filter(|name| name.len() < text.len())
            .ok_or_else(wrong)?;
        if self.kind == Names::Coff { Ok(name) } else { name.strip_suffix(b"/").ok_or_else(wrong) }
    }

    /// Whether the archive is thin: its members are separate files, and their names are paths.
    pub fn is_thin(&self) -> bool {
        self.thin
    }

    /// Returns the members in file order, without the tables. Several members may have the same
    /// name.
    pub fn members(&self) -> impl Iterator<Item = Member<'data>> + use<'data> {
        let (archive, mut at) = (*self, self.first);
        core::iter::from_fn(move || {
            // This cannot fail, because `Archive::parse` has read every member.
            let (member, next) = archive.read_member(at).ok()?;
            at = next;
            Some(member)
        })
    }
}

impl fmt::Debug for Archive<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.members()).finish()
    }
}

/// One member of an archive.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct Member<'data> {
    /// The name; in a thin archive, the path of the member's file, absolute or relative to the
    /// archive's folder.
    pub name: &'data [u8],
    /// The size in bytes.
    pub size: u64,
    /// The bytes; `None` in a thin archive.
    pub data: Option<&'data [u8]>,
    /// The header's offset in bytes from the start of the archive.
    pub offset: u64,
    /// The data's offset in bytes from the start of the archive. In a thin archive, this is where
    /// the data would be.
    pub data_offset: u64,
}

impl fmt::Debug for Member<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({} bytes at {})", self.name.escape_ascii(), self.size, self.offset)
    }
}

const SIZE_FIELD: u64 = 48;

/// A member's header.
#[derive(Clone, Copy)]
struct Header<'data> {
    at: u64,
    /// The name field without trailing spaces.
    name: &'data [u8],
    /// The size in the header, which includes the name if the name precedes the data.
    size: u64,
}

impl<'data> Header<'data> {
    fn read(data: &'data [u8], at: u64) -> Result<Self> {
        let wrong = |what, field| Error::new(ErrorKind::Malformed, what, at.saturating_add(field));
        let bytes = Reader::new(data).bytes(at, HEADER_SIZE, "archive member header")?;
        if !bytes.ends_with(HEADER_END) {
            return Err(wrong("end of an archive member header", HEADER_SIZE - 2));
        }
        let name = trimmed(&bytes[..16], b' ');
        let size = number(&bytes[SIZE_FIELD as usize..58])
            .ok_or_else(|| wrong("size of an archive member", SIZE_FIELD))?;
        Ok(Self { at, name, size })
    }

    /// In BSD archives, returns the size of the name if it sits between header and data. It counts
    /// towards the size. Without digits, `#1/` is how GNU archives store the name `#1`.
    fn name_size(&self) -> Option<u64> {
        number(self.name.strip_prefix(b"#1/")?)
    }

    /// Returns the offset of the next header, which is even.
    fn next(&self) -> u64 {
        // No overflow, because the size has at most ten digits.
        self.at + HEADER_SIZE + self.size.next_multiple_of(2)
    }
}

fn trimmed(bytes: &[u8], pad: u8) -> &[u8] {
    let end = bytes.iter().rposition(|byte| *byte != pad).map_or(0, |last| last + 1);
    &bytes[..end]
}

/// Parses the decimal number in a space-padded field.
fn number(field: &[u8]) -> Option<u64> {
    let digits = trimmed(field, b' ');
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0u64, |sum, byte| {
        let digit = char::from(*byte).to_digit(10)?;
        sum.checked_mul(10)?.checked_add(digit.into())
    })
}

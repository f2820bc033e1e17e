//! Views of a binary bundle.

use super::{ENTRY_COUNT_OFFSET, ENTRY_FIXED_SIZE, EntryId, FIRST_ENTRY_OFFSET, MAGIC};
use crate::reader::Reader;
use crate::target::ParseError;
use crate::{Error, ErrorKind, Result};
use core::fmt;

/// A binary bundle whose entry table has been checked.
#[derive(Clone, Copy)]
pub struct Bundle<'data> {
    data: &'data [u8],
    entries: u64,
}

impl<'data> Bundle<'data> {
    /// Checks the magic and the whole entry table, and borrows from `data`, which may go on behind the bundle.
    ///
    /// Returns an error if the magic is another, if the table ends early, if an ID is not UTF-8, or if a code object lies
    /// outside `data`.
    pub fn parse(data: &'data [u8]) -> Result<Self> {
        let reader = Reader::new(data);
        if reader.bytes(0, MAGIC.len() as u64, "bundle magic")? != MAGIC {
            return Err(Error::new(ErrorKind::BadMagic, "bundle magic", 0));
        }
        let entries = reader.u64(ENTRY_COUNT_OFFSET, "bundle entry count")?;
        let mut at = FIRST_ENTRY_OFFSET;
        for index in 0..entries {
            let (_, next) = read_entry(data, at).map_err(|error| error.in_entry(index))?;
            at = next;
        }
        Ok(Self { data, entries })
    }

    /// The entries in file order. More than one may have the same ID.
    pub fn entries(&self) -> Entries<'data> {
        Entries { data: self.data, at: FIRST_ENTRY_OFFSET, left: self.entries }
    }
}

impl fmt::Debug for Bundle<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.entries()).finish()
    }
}

/// Reads the entry at `at`; returns it and the offset of the next one.
fn read_entry(data: &[u8], at: u64) -> Result<(Entry<'_>, u64)> {
    let reader = Reader::new(data);
    let offset = reader.u64(at, "code object offset")?;
    let size = reader.u64(at + 8, "code object size")?;
    let id_size = reader.u64(at + 16, "bundle entry ID length")?;
    let id_at = at + ENTRY_FIXED_SIZE;
    let id = reader.range(id_at, id_size, at + 16, "bundle entry ID")?;
    let id = str::from_utf8(id).map_err(|_| Error::new(ErrorKind::Malformed, "bundle entry ID", id_at))?;
    if offset == 0 && size > 0 {
        return Err(Error::new(ErrorKind::Malformed, "code object offset (0, where the bundle itself is)", at));
    }
    let code_object = reader.range(offset, size, at, "code object")?;
    // No overflow: the ID lies inside the data.
    Ok((Entry { id, offset, code_object }, id_at + id_size))
}

/// The entries of a [`Bundle`] in file order; returned by [`Bundle::entries`].
#[derive(Clone)]
pub struct Entries<'data> {
    data: &'data [u8],
    at: u64,
    left: u64,
}

impl<'data> Iterator for Entries<'data> {
    type Item = Entry<'data>;

    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        // `Bundle::parse` has read every entry.
        let (entry, next) = read_entry(self.data, self.at).ok()?;
        self.at = next;
        Some(entry)
    }
}

impl fmt::Debug for Entries<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.clone()).finish()
    }
}

/// One bundle entry: an ID and a code object.
#[derive(Clone, Copy)]
pub struct Entry<'data> {
    id: &'data str,
    offset: u64,
    code_object: &'data [u8],
}

impl<'data> Entry<'data> {
    /// The bundle entry ID as stored.
    pub fn id_str(&self) -> &'data str {
        self.id
    }

    /// The bundle entry ID, split.
    ///
    /// Returns an error if it does not follow the grammar; such an entry can still be listed.
    pub fn id(&self) -> core::result::Result<EntryId<'data>, ParseError> {
        EntryId::parse(self.id)
    }

    /// Offset in bytes of the code object from the start of the bundle.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// The code object; empty for the host entry of a HIP bundle.
    pub fn code_object(&self) -> &'data [u8] {
        self.code_object
    }
}

impl fmt::Debug for Entry<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({} bytes at {})", self.id, self.code_object.len(), self.offset)
    }
}

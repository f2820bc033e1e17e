//! The entry table: the part of a bundle before its code objects.

use super::{ENTRY_COUNT_OFFSET, ENTRY_FIXED_SIZE, FIRST_ENTRY_OFFSET, MAGIC};
use crate::reader::Reader;
use crate::{Error, ErrorKind, Result};
use core::fmt;

/// A checked entry table of a binary bundle. The code objects may be missing: the first bytes of a
/// bundle are enough, even if the rest is not decompressed or downloaded yet.
#[derive(Clone, Copy)]
pub struct EntryTable<'data> {
    data: &'data [u8],
    entries: u64,
    size: u64,
}

impl<'data> EntryTable<'data> {
    /// Checks the magic and the whole table at the start of `data`, and borrows from `data`.
    ///
    /// Returns an error if `data` does not start with the magic, if the table is truncated, or if
    /// an ID is not UTF-8. Also returns an error if a nonempty code object starts at offset 0.
    #[inline]
    pub fn parse(data: &'data [u8]) -> Result<Self> {
        Self::parse_each(data, |_| Ok(()))
    }

    /// Parses the table and calls `check` for each entry.
    pub(super) fn parse_each(
        data: &'data [u8],
        check: impl Fn(&TableEntry<'data>) -> Result<()>,
    ) -> Result<Self> {
        let reader = Reader::new(data);
        if reader.bytes(0, MAGIC.len() as u64, "bundle magic")? != MAGIC {
            return Err(Error::new(ErrorKind::BadMagic, "bundle magic", 0));
        }
        let entries = reader.u64(ENTRY_COUNT_OFFSET, "bundle entry count")?;
        let mut size = FIRST_ENTRY_OFFSET;
        for index in 0..entries {
            let read =
                read_entry(data, size).and_then(|(entry, next)| check(&entry).map(|()| next));
            size = read.map_err(|error| error.in_entry(index))?;
        }
        Ok(Self { data, entries, size })
    }

    /// Returns the entries in file order. Several entries may have the same ID.
    pub fn entries(&self) -> impl Iterator<Item = TableEntry<'data>> + Clone + use<'data> {
        let (data, mut at) = (self.data, FIRST_ENTRY_OFFSET);
        (0..self.entries).map_while(move |_| {
            // This cannot fail: `EntryTable::parse` has read every entry.
            let (entry, next) = read_entry(data, at).ok()?;
            at = next;
            Some(entry)
        })
    }

    /// Returns the total size in bytes of the magic, the count and the table.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Returns the size in bytes of the bundle: the end of its last code object, or of the table if
    /// that is later.
    pub(crate) fn bundle_size(&self) -> u64 {
        self.entries()
            .fold(self.size, |end, entry| end.max(entry.offset.saturating_add(entry.size)))
    }
}

impl fmt::Debug for EntryTable<'_> {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.entries()).finish()
    }
}

/// Reads the entry at `at`, and returns it with the offset of the next entry.
fn read_entry(data: &[u8], at: u64) -> Result<(TableEntry<'_>, u64)> {
    let reader = Reader::new(data);
    let offset = reader.u64(at, "code object offset")?;
    let size = reader.u64(at + 8, "code object size")?;
    let id_size = reader.u64(at + 16, "bundle entry ID length")?;
    let id_at = at + ENTRY_FIXED_SIZE;
    let id = reader.range(id_at, id_size, at + 16, "bundle entry ID")?;
    let id = str::from_utf8(id)
        .map_err(|_| Error::new(ErrorKind::Malformed, "bundle entry ID", id_at))?;
    if offset == 0 && size > 0 {
        return Err(Error::new(
            ErrorKind::Malformed,
            "code object offset (0, the offset of the bundle itself)",
            at,
        ));
    }
    // No overflow, because the ID is inside the data.
    Ok((TableEntry { id_str: id, offset, size, field: at }, id_at + id_size))
}

/// The table's entry for one code object.
#[derive(Clone, Copy)]
pub struct TableEntry<'data> {
    /// The bundle entry ID as stored.
    pub id_str: &'data str,
    /// The code object's offset in bytes from the start of the bundle.
    pub offset: u64,
    /// The size in bytes of the code object.
    pub size: u64,
    /// The position of the entry's offset field, for errors.
    pub(crate) field: u64,
}

impl fmt::Debug for TableEntry<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({} bytes at {})", self.id_str, self.size, self.offset)
    }
}

//! Views of a binary bundle.

use super::{EntryId, EntryTable, HIP_ENTRY_PREFIX, TableEntry};
use crate::Result;
use crate::reader::Reader;
use crate::target::{ParseError, TargetId};
use core::fmt;

/// A binary bundle whose entry table has been checked: each entry's code object is inside the data.
#[derive(Clone, Copy)]
pub struct Bundle<'data> {
    data: &'data [u8],
    table: EntryTable<'data>,
}

impl<'data> Bundle<'data> {
    /// Checks the magic and the whole entry table of the bundle at the start of `data`, and borrows
    /// from `data`, which may continue after the bundle.
    ///
    /// Returns an error if [`EntryTable::parse`] returns one, or if a code object is outside
    /// `data`.
    pub fn parse(data: &'data [u8]) -> Result<Self> {
        let table = EntryTable::parse_each(data, |entry| entry_in(data, entry).map(drop))?;
        Ok(Self { data, table })
    }

    /// Returns the entries in file order. Several entries may have the same ID.
    pub fn entries(&self) -> impl Iterator<Item = Entry<'data>> + Clone + use<'data> {
        let data = self.data;
        // This cannot fail: `Bundle::parse` has looked up every code object.
        self.table.entries().filter_map(move |entry| entry_in(data, &entry).ok())
    }

    /// Returns the code object for a HIP device: the first one in file order that has the kind
    /// `hip`, `hipv4` or `hcc` and runs on the device ([`TargetId::provides_for`]). `device` is the
    /// target ID that the runtime reports, with all features (`gfx90a:sramecc+:xnack-`).
    ///
    /// To find an image for a generic target, call this method again with that target as the
    /// device. [`select`](crate::select()) documents the rules for generic targets.
    #[inline]
    pub fn find_hip(&self, device: &TargetId<'_>) -> Option<Entry<'data>> {
        let entry = self.table.entries().find(|entry| {
            // IDs from HIP's compilers have this prefix before the target ID, so they need no
            // parsing.
            let target = match entry.id_str.strip_prefix(HIP_ENTRY_PREFIX) {
                Some(target) => target,
                None => match EntryId::find_parts(entry.id_str) {
                    Some(id) if id.is_hip() => id.target(),
                    _ => return false,
                },
            };
            TargetId::provides_text_for(target, device)
        })?;
        // This cannot fail: `Bundle::parse` has looked up every code object.
        entry_in(self.data, &entry).ok()
    }

    /// Returns the entry table alone.
    pub fn table(&self) -> EntryTable<'data> {
        self.table
    }

    /// Returns the size of the bundle in bytes: the end of its last code object or of the table,
    /// whichever is later.
    pub fn size(&self) -> u64 {
        self.table.bundle_size()
    }
}

impl fmt::Debug for Bundle<'_> {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.entries()).finish()
    }
}

fn entry_in<'data>(data: &'data [u8], entry: &TableEntry<'data>) -> Result<Entry<'data>> {
    let (id, offset) = (entry.id_str, entry.offset);
    let code_object = Reader::new(data).range(offset, entry.size, entry.field, "code object")?;
    Ok(Entry { id_str: id, offset, code_object })
}

/// An entry of a binary, text or object bundle: an ID and a code object.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct Entry<'data> {
    /// The bundle entry ID as stored.
    pub id_str: &'data str,
    /// The code object's offset in bytes from the start of the bundle, or of the object that
    /// contains the bundle.
    pub offset: u64,
    /// The code object; empty for the host entry of a HIP bundle. In a text bundle, the device code
    /// may be text; the line end before the END line is not part of it.
    pub code_object: &'data [u8],
}

impl<'data> Entry<'data> {
    /// Returns the bundle entry ID, split into its parts.
    ///
    /// Returns an error if the ID is malformed. An entry with a malformed ID can still be listed.
    pub fn id(&self) -> core::result::Result<EntryId<'data>, ParseError> {
        EntryId::parse(self.id_str)
    }
}

impl fmt::Debug for Entry<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({} bytes at {})", self.id_str, self.code_object.len(), self.offset)
    }
}

//! The view of one offload binary.

use super::{
    ALIGN, Compressed, ENTRIES_OFFSET, ENTRY_COUNT_OFFSET, ENTRY_SIZE, INFLATED_SIZE_OFFSET, Image,
    MAGIC, SIZE_OFFSET, Version,
};
use crate::budget::Budget;
use crate::in_a_row::in_a_row;
use crate::reader::Reader;
use crate::{Error, ErrorKind, Result};
use alloc::vec::Vec;
use core::fmt;

/// The size limit for all pairs of all images together, as a multiple of the binary's own size.
/// Pairs may share text, and images may share pairs, so without a limit, a small file could make a
/// reader read the same bytes millions of times.
const TEXT_LIMIT: u64 = 64;

/// One offload binary whose header, entries and strings have been checked.
#[derive(Clone, Copy)]
pub struct OffloadBinary<'data> {
    data: &'data [u8],
    /// The version in the header.
    pub version: Version,
    entries_offset: u64,
    entries: u64,
    /// The compressed content, if the binary contains it instead of images.
    pub compressed: Option<Compressed<'data>>,
}

impl<'data> OffloadBinary<'data> {
    /// Checks the binary at the start of `data`, and borrows from `data`, which may continue after
    /// the binary.
    ///
    /// Returns an error if the magic or the version is unknown, if any part exceeds the size in the
    /// header, or if a string key is not UTF-8. Compressed content is not read.
    pub fn parse(data: &'data [u8]) -> Result<Self> {
        let reader = Reader::new(data);
        let magic = reader.bytes(0, MAGIC.len() as u64, "offload binary magic")?;
        if magic != MAGIC {
            return Err(Error::new(ErrorKind::BadMagic, "offload binary magic", 0));
        }
        let number = reader.u32(4, "offload binary version")?;
        let unknown = ErrorKind::UnsupportedVersion { version: number.into() };
        let version =
            Version::from_number(number).ok_or(Error::new(unknown, "offload binary version", 4))?;
        let size = reader.u64(SIZE_OFFSET, "offload binary size")?;
        let data = reader.range(0, size, SIZE_OFFSET, "offload binary")?;
        let reader = Reader::new(data);
        reader.bytes(0, version.header_size(), "offload binary header")?;
        let entries_offset = reader.u64(ENTRIES_OFFSET, "entries offset")?;
        let (mut entries, mut inflated_size) = (1, 0);
        if version >= Version::V2 {
            entries = reader.u64(ENTRY_COUNT_OFFSET, "entry count")?;
        }
        if version >= Version::V3 {
            inflated_size = reader.u64(INFLATED_SIZE_OFFSET, "inflated size")?;
        }
        let mut binary = Self { data, version, entries_offset, entries, compressed: None };
        match inflated_size {
            0 => binary.check_entries()?,
            size => {
                binary.compressed = Some(Compressed::new(reader, entries_offset, size)?);
                binary.entries = 0;
            }
        }
        Ok(binary)
    }

    /// Returns the consecutive offload binaries in a section or file, each with its offset in
    /// bytes. Their versions may differ.
    ///
    /// After each binary, whose size is rounded up to a multiple of 8, the iterator skips zeros,
    /// eight at a time. Iteration ends after the first error, or when only zeros are left.
    pub fn in_a_row(data: &'data [u8]) -> impl Iterator<Item = Result<(u64, Self)>> {
        in_a_row(data, ALIGN as usize, |rest| Self::parse(rest).map(|it| (it, it.size())))
    }

    fn check_entries(&self) -> Result<()> {
        let reader = Reader::new(self.data);
        let size = self.entries.saturating_mul(ENTRY_SIZE);
        reader.range(self.entries_offset, size, ENTRIES_OFFSET, "offload entries")?;
        let what = "string map (string pairs share too much text)";
        let mut budget = Budget::new(reader.len(), TEXT_LIMIT, what);
        for index in 0..self.entries {
            let entry_offset = self.entries_offset + index * ENTRY_SIZE;
            let checked =
                self.image(index).and_then(|image| image.check_strings(entry_offset, &mut budget));
            checked.map_err(|error| error.in_entry(index))?;
        }
        Ok(())
    }

    /// Returns the size of the whole binary in bytes, from its header. The size of a compressed
    /// binary need not be a multiple of 8.
    pub fn size(&self) -> u64 {
        self.data.len() as u64
    }

    /// Returns the device images, in file order: one in version 1, none if the content is
    /// compressed.
    pub fn images(&self) -> impl Iterator<Item = Image<'data>> + Clone + use<'data> {
        let binary = *self;
        // This cannot fail: `OffloadBinary::parse` has read every entry.
        (0..self.entries).filter_map(move |index| binary.image(index).ok())
    }

    fn image(&self, index: u64) -> Result<Image<'data>> {
        Image::read(self.data, self.version, self.entries_offset + index * ENTRY_SIZE)
    }
}

impl fmt::Debug for OffloadBinary<'_> {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut f = f.debug_struct("OffloadBinary");
        f.field("version", &self.version).field("size", &self.size());
        match &self.compressed {
            Some(compressed) => f.field("compressed", compressed).finish(),
            None => f.field("images", &self.images().collect::<Vec<_>>()).finish(),
        }
    }
}

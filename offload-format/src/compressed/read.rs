//! Views of a compressed bundle.

use super::{CodeObjects, Header, MAGIC};
use crate::bundle::{EntryTable, TableEntry};
use crate::compression::{self, Decompressor, Method};
use crate::reader::Reader;
use crate::{Error, ErrorKind, Result};
use alloc::borrow::Cow;
use alloc::vec::Vec;
use core::fmt;

const STREAM: &str = "compressed bundle's stream";

/// A compressed bundle whose header has been checked.
#[derive(Clone, Copy)]
pub struct CompressedBundle<'data> {
    /// The version of the header: 1, 2 or 3.
    pub version: u16,
    method: u16,
    /// The total size in bytes, including the header; `None` in version 1, which has no such field,
    /// or if the field is 0.
    pub total_size: Option<u64>,
    /// The decompressed size in bytes, from the header.
    pub uncompressed_size: u64,
    /// The stored hash: the first 8 bytes of the decompressed bundle's MD5 digest.
    pub hash: u64,
    /// The compressed bytes, up to the end of the parsed data if the size is unknown.
    pub payload: &'data [u8],
    pub(super) payload_offset: u64,
}

impl<'data> CompressedBundle<'data> {
    /// Checks the header at the start of `data`, and borrows from `data`, which may continue after
    /// the bundle.
    ///
    /// Returns an error if `data` does not start with the magic, if the version is unknown, or if
    /// the bundle ends outside `data`. An unknown method is not an error: such a bundle can still
    /// be listed.
    pub fn parse(data: &'data [u8]) -> Result<Self> {
        let reader = Reader::new(data);
        if reader.bytes(0, MAGIC.len() as u64, "compressed bundle magic")? != MAGIC {
            return Err(Error::new(ErrorKind::BadMagic, "compressed bundle magic", 0));
        }
        let version = reader.u16(4, "compressed bundle version")?;
        let unknown = ErrorKind::UnsupportedVersion { version: version.into() };
        let header =
            Header::of(version).ok_or(Error::new(unknown, "compressed bundle version", 4))?;
        reader.bytes(0, header.size, "compressed bundle header")?;
        let size = |at, what| {
            if header.wide { reader.u64(at, what) } else { reader.u32(at, what).map(u64::from) }
        };
        let total_size =
            header.total_size.map(|at| size(at, "compressed bundle size")).transpose()?;
        // Some writers leave the size at 0. As in version 1, the stream may then continue to the
        // end of the data.
        let total_size = total_size.filter(|size| *size != 0);
        let whole = match total_size {
            Some(size) if size < header.size => {
                return Err(Error::new(
                    ErrorKind::Malformed,
                    "compressed bundle size (smaller than its header)",
                    8,
                ));
            }
            Some(size) => reader.range(0, size, 8, "compressed bundle")?,
            None => data,
        };
        let payload =
            Reader::new(whole).bytes(header.size, whole.len() as u64 - header.size, STREAM)?;
        Ok(Self {
            version,
            method: reader.u16(6, "compression method")?,
            total_size,
            uncompressed_size: size(header.uncompressed_size, "uncompressed size")?,
            hash: reader.u64(header.hash, "hash")?,
            payload,
            payload_offset: header.size,
        })
    }

    /// Returns the method, if its number is known.
    pub fn method(&self) -> Option<Method> {
        Method::from_number(self.method)
    }

    /// Returns the method's number as stored.
    pub fn method_number(&self) -> u16 {
        self.method
    }

    /// Returns the total size in bytes, including the header. If the header does not contain the
    /// size, decompresses the bundle to find its end.
    ///
    /// Returns an error if the decompressed bundle would have more than `limit` bytes, if the
    /// stream is damaged, or if its method was not built in.
    pub fn find_size(&self, limit: u64) -> Result<u64> {
        if let Some(size) = self.total_size {
            return Ok(size);
        }
        if self.uncompressed_size > limit {
            let kind = ErrorKind::LimitExceeded { need: self.uncompressed_size, limit };
            return Err(Error::new(kind, STREAM, self.payload_offset));
        }
        let mut stream = self.stream(limit)?;
        // Read at most one byte more than the header states: a longer stream is damaged.
        if stream.skip(self.uncompressed_size.saturating_add(1))? > self.uncompressed_size {
            let reason = "the decompressed content is larger than the header states";
            return Err(Error::new(ErrorKind::Compression { reason }, STREAM, self.payload_offset));
        }
        Ok(self.payload_offset + stream.consumed())
    }

    /// Decompresses the whole bundle, which may be a binary bundle or a text bundle.
    ///
    /// Returns an error if the bundle would have more than `limit` bytes, if the stream is damaged,
    /// or if its method was not built in.
    pub fn decompress(&self, limit: u64) -> Result<Vec<u8>> {
        let method = self.known_method()?;
        let payload = match self.total_size {
            Some(_) => self.payload,
            None => {
                let size = self.find_size(limit)? - self.payload_offset;
                Reader::new(self.payload).bytes(0, size, STREAM)?
            }
        };
        compression::decompress(
            method,
            payload,
            self.uncompressed_size,
            limit,
            STREAM,
            self.payload_offset,
        )
    }

    /// Returns the bytes of the entry table, for [`EntryTable::parse`]. The bytes after the table
    /// are not decompressed.
    ///
    /// Returns an error if the table or the decoder would need more than `limit` bytes, or if the
    /// decompressed bytes are not a binary bundle. Also returns an error if the stream is damaged,
    /// or if its method was not built in. Offsets in errors about the table count from the start of
    /// the decompressed bundle.
    pub fn entry_table(&self, limit: u64) -> Result<Vec<u8>> {
        let mut stream = self.stream(limit)?;
        let mut table: Vec<u8> = Vec::new();
        loop {
            // Double the number of bytes on each attempt, so that all attempts together parse about
            // twice the table's size.
            let have = table.len();
            let room =
                (have as u64).max(FIRST_READ).min(limit.saturating_sub(have as u64)) as usize;
            let out_of_room = ErrorKind::LimitExceeded { need: limit.saturating_add(1), limit };
            if room == 0 || table.try_reserve(room).is_err() {
                return Err(Error::new(out_of_room, "bundle's entry table", self.payload_offset));
            }
            table.resize(have + room, 0);
            let read = stream.read(&mut table[have..])?;
            table.truncate(have + read);
            match EntryTable::parse(&table).map(|parsed| (parsed.size(), parsed.bundle_size())) {
                // An end beyond 64 bits counts as `u64::MAX`.
                Ok((_, size)) if size > self.uncompressed_size || size == u64::MAX => {
                    let outside =
                        ErrorKind::OutOfBounds { start: 0, size, len: self.uncompressed_size };
                    return Err(Error::new(
                        outside,
                        "bundle in the decompressed content",
                        self.payload_offset,
                    ));
                }
                Ok((size, _)) => {
                    table.truncate(size as usize);
                    return Ok(table);
                }
                Err(error) if read < room || !is_cut_short(&error) => return Err(error),
                Err(_) => {}
            }
        }
    }

    /// Returns a decompressed code object. Bytes after it are not decompressed, and bytes before it
    /// are not kept.
    ///
    /// Returns an error if the code object or the decoder would need more than `limit` bytes, or if
    /// the bundle ends before the code object does. Also returns an error if the stream is damaged,
    /// or if its method was not built in.
    pub fn code_object(&self, entry: &TableEntry<'_>, limit: u64) -> Result<Vec<u8>> {
        let mut code_objects = self.code_objects(limit)?;
        code_objects.read_for(entry.offset, entry.size, entry.field).map(Cow::into_owned)
    }

    /// Returns a reader that can read several code objects in one pass through the stream. `limit`
    /// is the maximum size in bytes of each code object, and of the decoder's window.
    ///
    /// Returns an error if the method is unknown or was not built in.
    pub(crate) fn code_objects(&self, limit: u64) -> Result<CodeObjects<'data>> {
        CodeObjects::new(*self, limit)
    }

    /// Returns a decompressor that reads the bundle in pieces. `limit` is the maximum number of
    /// bytes that the decoder may allocate.
    ///
    /// Returns an error if the method is unknown or was not built in.
    pub fn stream(&self, limit: u64) -> Result<Decompressor<'data>> {
        Decompressor::new(self.known_method()?, self.payload, limit, STREAM, self.payload_offset)
    }

    fn known_method(&self) -> Result<Method> {
        let unknown = ErrorKind::UnsupportedCompression { method: self.method.into() };
        self.method().ok_or(Error::new(unknown, "compression method", 6))
    }
}

/// How many bytes to decompress on the first attempt to read the entry table.
const FIRST_READ: u64 = 4096;

impl fmt::Debug for CompressedBundle<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CompressedBundle")
            .field("version", &self.version)
            .field("method", &self.method)
            .field("total_size", &self.total_size)
            .field("uncompressed_size", &self.uncompressed_size)
            .field("hash", &format_args!("{:#018x}", self.hash))
            .finish()
    }
}

/// Whether the error may be due to missing bytes.
fn is_cut_short(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Truncated { .. } | ErrorKind::OutOfBounds { .. })
}

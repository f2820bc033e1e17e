//! The compressed stream that an offload binary of version 3 may contain instead of images.

use super::{ENTRIES_OFFSET, INFLATED_SIZE_OFFSET, SIZE_OFFSET, Version};
use crate::compression::{Decompressor, Method};
use crate::reader::Reader;
use crate::{Error, ErrorKind, Result};
use alloc::vec::Vec;
use core::fmt;

/// The compressed content of an [`OffloadBinary`](super::OffloadBinary).
#[derive(Clone, Copy)]
pub struct Compressed<'data> {
    head: &'data [u8],
    /// The compressed bytes, up to the binary's end.
    pub stream: &'data [u8],
    /// The size in bytes of the binary that [`Compressed::decompress`] returns, from the header.
    pub inflated_size: u64,
}

impl<'data> Compressed<'data> {
    pub(super) fn new(
        binary: Reader<'data>,
        entries_offset: u64,
        inflated_size: u64,
    ) -> Result<Self> {
        let size = binary.len().saturating_sub(entries_offset);
        let stream = binary.range(entries_offset, size, ENTRIES_OFFSET, "compressed entries")?;
        if entries_offset < Version::V3.header_size() {
            return Err(Error::new(
                ErrorKind::Malformed,
                "entries offset (inside the header)",
                ENTRIES_OFFSET,
            ));
        }
        if inflated_size < entries_offset {
            let what = "inflated size (less than the entries' offset)";
            return Err(Error::new(ErrorKind::Malformed, what, INFLATED_SIZE_OFFSET));
        }
        let head = binary.bytes(0, entries_offset, "offload binary header")?;
        Ok(Self { head, stream, inflated_size })
    }

    /// Detects the compression method from the first bytes of the content.
    pub fn method(&self) -> Method {
        Method::of_stream(self.stream)
    }

    /// Returns the decompressed binary, which also has version 3.
    ///
    /// Returns an error if the inflated size is over `limit` bytes, or if the method was not built
    /// in. Also returns an error if the content is damaged, or if its decompressed size differs
    /// from the size in the header.
    pub fn decompress(&self, limit: u64) -> Result<Vec<u8>> {
        let what = "offload binary";
        let kind = ErrorKind::LimitExceeded { need: self.inflated_size, limit };
        let too_much = Error::new(kind, what, INFLATED_SIZE_OFFSET);
        if self.inflated_size > limit {
            return Err(too_much);
        }
        let mut binary = Vec::new();
        let size = usize::try_from(self.inflated_size).map_err(|_| too_much)?;
        binary.try_reserve_exact(size).map_err(|_| too_much)?;
        binary.extend_from_slice(self.head);
        binary[SIZE_OFFSET as usize..][..8].copy_from_slice(&self.inflated_size.to_le_bytes());
        binary[INFLATED_SIZE_OFFSET as usize..][..8].fill(0);
        let at = self.head.len();
        let mut stream = Decompressor::new(self.method(), self.stream, limit, what, at as u64)?;
        let found = stream.append(&mut binary, size - at)?;
        stream.expect_end()?;
        if at + found != size {
            let what = "inflated size (larger than the content)";
            return Err(Error::new(ErrorKind::Malformed, what, INFLATED_SIZE_OFFSET));
        }
        Ok(binary)
    }

    /// Decompresses an image, or any other range after the header, and appends it to `out`. The
    /// range is `size` bytes at `offset` in the binary that [`Compressed::decompress`] would
    /// return. Bytes after the range are not decompressed, and bytes before the range are not kept.
    /// To read several images, use `decompress`.
    ///
    /// Returns an error if the range is not inside the inflated binary after its header, or if the
    /// range or the decoder would need more than `limit` bytes. Also returns an error if the method
    /// was not built in, or if the content is damaged or ends too early. After an error, `out` is
    /// unchanged.
    #[inline]
    pub fn decompress_into(
        &self,
        offset: u64,
        size: u64,
        limit: u64,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        let (what, before) = ("offload binary's image", self.head.len() as u64);
        let outside = Error::new(
            ErrorKind::OutOfBounds { start: offset, size, len: self.inflated_size },
            what,
            offset,
        );
        let end =
            offset.checked_add(size).filter(|end| *end <= self.inflated_size && offset >= before);
        end.ok_or(outside)?;
        let too_much = Error::new(ErrorKind::LimitExceeded { need: size, limit }, what, offset);
        let length = usize::try_from(size).ok().filter(|_| size <= limit).ok_or(too_much)?;
        let mut stream = Decompressor::new(self.method(), self.stream, limit, what, before)?;
        let had = out.len();
        out.try_reserve_exact(length).map_err(|_| too_much)?;
        let found = stream.append_after(offset - before, out, length);
        if found == Ok(length) {
            return Ok(());
        }
        out.truncate(had);
        Err(found.err().unwrap_or(outside))
    }
}

impl fmt::Debug for Compressed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes by {} from {}", self.stream.len(), self.method(), self.inflated_size)
    }
}

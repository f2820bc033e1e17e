//! Decompresses payloads and finds the images in them.

use super::{Compression, Entry, Image, lz4};
use crate::compression::{self, Method};
use crate::reader::Reader;
use crate::{Error, ErrorKind, Result};
use alloc::borrow::Cow;
use core::fmt;

/// The payload of an [`Entry`], and the images in it.
#[derive(Clone)]
pub struct Payload<'data> {
    entry: Entry<'data>,
    bytes: Cow<'data, [u8]>,
}

impl<'data> Entry<'data> {
    /// Decompresses the payload, or borrows it if it is not compressed. `limit` is the maximum
    /// number of bytes to allocate.
    ///
    /// Returns an error if the payload exceeds the limit, is damaged, or does not have the stated
    /// size. Also returns an error if the compression is unknown or not built in (zlib and zstd are
    /// features; LZ4 is always built in).
    pub fn decompress(&self, limit: u64) -> Result<Payload<'data>> {
        const WHAT: &str = "fatbin payload";
        let (stored, size, at) = (self.stored, self.size, self.offset);
        let damaged = |reason| Error::new(ErrorKind::Compression { reason }, WHAT, at);
        if self.compression != Compression::None && size > limit {
            return Err(Error::new(ErrorKind::LimitExceeded { need: size, limit }, WHAT, at));
        }
        let bytes: Cow<[u8]> = match self.compression {
            Compression::None => stored.into(),
            Compression::Zlib => {
                compression::decompress(Method::Zlib, stored, size, limit, WHAT, at)?.into()
            }
            Compression::Zstd => {
                compression::decompress(Method::Zstd, stored, size, limit, WHAT, at)?.into()
            }
            Compression::Lz4 => lz4::block(stored, size).map_err(damaged)?.into(),
            Compression::Lz4Frame => lz4::frame(stored, size).map_err(damaged)?.into(),
            Compression::Unknown(method) => {
                return Err(Error::new(ErrorKind::UnsupportedCompression { method }, WHAT, at));
            }
        };
        if bytes.len() as u64 != size {
            return Err(damaged("the decompressed content is smaller than the header states"));
        }
        Ok(Payload { entry: *self, bytes })
    }

    /// Returns the images of an uncompressed payload like [`Payload::images`], each with its offset
    /// in bytes from the start of the fatbin. Returns no images if the payload is compressed.
    pub(crate) fn images_in_place(
        &self,
    ) -> impl Iterator<Item = (Image<'data>, u64, &'data [u8])> + use<'data> {
        let reader = Reader::new(self.stored);
        let offset = self.offset;
        let images = (self.compression == Compression::None).then(|| self.images());
        images.into_iter().flatten().filter_map(move |image| {
            Some((image, offset.saturating_add(image.start), bytes_of(&image, reader)?))
        })
    }
}

fn bytes_of<'payload>(image: &Image<'_>, payload: Reader<'payload>) -> Option<&'payload [u8]> {
    // This cannot fail: parsing checked the range against the payload's size.
    let bytes = payload.bytes(image.start, image.size, "image").ok()?;
    let text = bytes.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
    Some(if image.kind.is_ptx() { &bytes[..text] } else { bytes })
}

impl<'data> Payload<'data> {
    /// Returns the whole payload.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the bytes of one of the entry's images, like [`Payload::images`]. Returns `None` if
    /// the image is not in this payload.
    pub(crate) fn bytes_of(&self, image: &Image<'_>) -> Option<&[u8]> {
        bytes_of(image, Reader::new(&self.bytes))
    }

    /// Returns the images with their bytes. PTX is returned without trailing NULs. A cubin that was
    /// not compressed, or was compressed together with other images, ends with up to 7 zeros.
    pub fn images(&self) -> impl Iterator<Item = (Image<'data>, &[u8])> {
        let reader = Reader::new(&self.bytes);
        self.entry.images().filter_map(move |image| Some((image, bytes_of(&image, reader)?)))
    }
}

impl fmt::Debug for Payload<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Payload")
            .field("entry", &self.entry)
            .field("size", &self.bytes.len())
            .finish()
    }
}

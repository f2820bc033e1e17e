//! Reads the bytes of images, and decompresses them where necessary.

use super::Image;
use super::image::Bytes;
use crate::Result;
use crate::compressed::{CodeObjects, CompressedBundle};
use crate::nv_fatbin::{Entry, Payload};
use alloc::borrow::Cow;

/// Reads the bytes of images. The reader keeps only the last decompressed part: one image, or the
/// payload of a fatbin. Reading the images in file order decompresses each container only once.
#[derive(Debug)]
pub struct Images<'a> {
    limit: u64,
    open: Open<'a>,
}

#[derive(Debug)]
enum Open<'a> {
    Nothing,
    Bundle(CompressedBundle<'a>, CodeObjects<'a>),
    Payload(Entry<'a>, Payload<'a>),
}

impl<'a> Images<'a> {
    /// Creates a reader that decompresses at most `limit` bytes at a time.
    pub fn new(limit: u64) -> Self {
        Self { limit, open: Open::Nothing }
    }

    /// Returns the image's bytes, borrowed if the file contains them uncompressed.
    ///
    /// Returns an error if the compressed part is damaged, has an unknown method, or exceeds the
    /// limit. The error's offset counts from the start of the container.
    pub fn read<'b>(&'b mut self, image: &'b Image<'a>) -> Result<Cow<'b, [u8]>> {
        match &image.bytes {
            Bytes::Here(bytes) => Ok(Cow::Borrowed(bytes)),
            Bytes::Inflated(whole, range) => Ok(Cow::Borrowed(&whole[range.clone()])),
            Bytes::Bundle(bundle, offset) => self.code_objects(bundle)?.read(*offset, image.size),
            Bytes::Kpack(kernel, _) => kernel.read(self.limit),
            #[cfg(feature = "object")]
            Bytes::Table(image) => image.read(self.limit),
            Bytes::Fatbin(entry, image) => Ok(Cow::Borrowed(
                self.payload(entry)?.bytes_of(image).expect("the image belongs to this entry"),
            )),
        }
    }

    /// Returns the image's bytes, or `None` if the image is compressed in a fatbin, because the
    /// fatbin states the image's kind.
    ///
    /// Returns an error in the same cases as [`Images::read`].
    pub fn read_unrecorded<'b>(
        &'b mut self,
        image: &'b Image<'a>,
    ) -> Result<Option<Cow<'b, [u8]>>> {
        match &image.bytes {
            Bytes::Fatbin(..) => Ok(None),
            _ => self.read(image).map(Some),
        }
    }

    fn code_objects(&mut self, bundle: &CompressedBundle<'a>) -> Result<&mut CodeObjects<'a>> {
        if !matches!(&self.open, Open::Bundle(open, _) if core::ptr::eq(open.payload, bundle.payload))
        {
            self.open = Open::Bundle(*bundle, bundle.code_objects(self.limit)?);
        }
        match &mut self.open {
            Open::Bundle(_, code_objects) => Ok(code_objects),
            _ => unreachable!("the bundle has just been opened"),
        }
    }

    fn payload(&mut self, entry: &Entry<'a>) -> Result<&Payload<'a>> {
        let is_open = |open: &Entry<'_>| {
            core::ptr::eq(open.stored, entry.stored)
                && (open.size, open.compression) == (entry.size, entry.compression)
        };
        if !matches!(&self.open, Open::Payload(open, _) if is_open(open)) {
            self.open = Open::Payload(*entry, entry.decompress(self.limit)?);
        }
        match &self.open {
            Open::Payload(_, payload) => Ok(payload),
            _ => unreachable!("the payload has just been opened"),
        }
    }
}

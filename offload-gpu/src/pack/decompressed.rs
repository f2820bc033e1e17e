//! Images of compressed packs. Each module is compressed separately, so that a program can
//! decompress one module without the others.

use super::{Form, PackImage};
use alloc::vec::Vec;
use core::ffi::c_void;
use core::fmt;
use offload_format::compression::Decompressor;
use offload_format::{Error, ErrorKind, Result};
use offload_pack::pack_index::IndexStream;

/// The bytes of an image from [`PackImage::decompress`], for compressed and plain packs. Keep this
/// value as long as the bytes are needed.
pub struct Decompressed(Bytes);

enum Bytes {
    /// The pack is plain: the image is `size` bytes of the pack, starting at `start`.
    InPack { pack: &'static [u8], start: usize, size: usize },
    /// The pack is compressed: the buffer contains the image, `size` bytes starting at `start`, and
    /// then a NUL.
    Own { buffer: Vec<u8>, start: usize, size: usize },
}

/// The minimum alignment in bytes of decompressed images, which is more than any driver needs.
const ALIGN: usize = 64;

impl Decompressed {
    /// Returns the image's bytes.
    pub fn bytes(&self) -> &[u8] {
        match &self.0 {
            Bytes::InPack { pack, start, size } => &pack[*start..][..*size],
            Bytes::Own { buffer, start, size } => &buffer[*start..][..*size],
        }
    }

    /// Returns the start of the image, for `cuModuleLoadData` and `hipModuleLoadData`. The pointer
    /// is valid as long as this value exists. The image is aligned to at least 8 bytes and followed
    /// by a NUL.
    pub fn as_ptr(&self) -> *const c_void {
        match &self.0 {
            Bytes::InPack { pack, start, .. } => pack.as_ptr().wrapping_add(*start).cast(),
            Bytes::Own { buffer, start, .. } => buffer.as_ptr().wrapping_add(*start).cast(),
        }
    }
}

impl fmt::Debug for Decompressed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Decompressed({} bytes)", self.bytes().len())
    }
}

impl<F: Form> PackImage<F> {
    /// Whether the image is compressed.
    pub fn is_compressed(&self) -> bool {
        self.stream.is_some()
    }

    /// Returns the image's bytes, for compressed and plain packs. In a compressed pack, the call
    /// also decompresses the bytes before the image in its module, and discards them. It
    /// decompresses neither the bytes after the image nor other modules. The result is not cached:
    /// each call decompresses again.
    ///
    /// Returns an error if the pack needs the feature `zstd` or `zlib` and the crate lacks it, if
    /// there is not enough memory, or if the stream is damaged.
    pub fn decompress(&self) -> Result<Decompressed> {
        let Some(stream) = self.stream else {
            let (pack, start, size) = (self.pack, self.record.offset, self.record.size);
            return Ok(Decompressed(Bytes::InPack { pack, start, size }));
        };
        let mut buffer: Vec<u8> = Vec::new();
        let room = self.record.size.saturating_add(ALIGN);
        buffer.try_reserve_exact(room).map_err(|_| self.too_much(stream))?;
        // The buffer has enough capacity, so it does not move later, and `start` stays aligned.
        let start = buffer.as_ptr().addr().next_multiple_of(ALIGN) - buffer.as_ptr().addr();
        buffer.resize(start, 0);
        self.append(stream, &mut buffer)?;
        let size = buffer.len() - start;
        buffer.push(0);
        Ok(Decompressed(Bytes::Own { buffer, start, size }))
    }

    /// Replaces the contents of `out` with the image's bytes, so that callers can reuse a buffer.
    /// PTX is followed by a NUL.
    ///
    /// Returns an error in the same cases as [`PackImage::decompress`].
    pub fn decompress_into(&self, out: &mut Vec<u8>) -> Result<()> {
        out.clear();
        match self.stream {
            None => out.extend_from_slice(self.in_pack()),
            Some(stream) => {
                out.try_reserve(self.record.size.saturating_add(1))
                    .map_err(|_| self.too_much(stream))?;
                self.append(stream, out)?;
            }
        }
        out.extend(self.record.kind.is_ptx().then_some(0));
        Ok(())
    }

    fn append(&self, stream: &IndexStream, out: &mut Vec<u8>) -> Result<()> {
        const WHAT: &str = "compressed pack";
        let IndexStream { offset, size, inflated_size, method } = *stream;
        // `ModuleRecord::problem` has checked the range.
        let input = &self.pack[offset as usize..][..size as usize];
        // Limit the decoder to the recorded decompressed size, but to no less than 1 MiB:
        // offload-build wrote the pack, so its sizes can be trusted.
        let limit = inflated_size.max(1 << 20);
        let mut content = Decompressor::new(method, input, limit, WHAT, offset)?;
        let skipped = content.skip(self.record.offset as u64)?;
        let came = content.append(out, self.record.size)?;
        if skipped == self.record.offset as u64 && came == self.record.size {
            Ok(())
        } else {
            Err(Error::new(ErrorKind::Malformed, WHAT, offset))
        }
    }

    fn too_much(&self, stream: &IndexStream) -> Error {
        let kind =
            ErrorKind::LimitExceeded { need: self.record.size as u64, limit: isize::MAX as u64 };
        Error::new(kind, "compressed pack", stream.offset)
    }
}

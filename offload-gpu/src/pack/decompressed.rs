//! Images of compressed packs. Each module is compressed separately, so that a program can
//! decompress one module without the others.

use super::{Compressed, Content, Form, ImageRecord, KernelPack, ModuleRecord, PackImage};
use alloc::vec::Vec;
use core::ffi::c_void;
use core::fmt;
use offload_format::compression::{Decompressor, Method};
use offload_format::{Error, ErrorKind, Result};

/// The location of a module's stream in a compressed pack. The macro writes it.
#[derive(Debug, Clone, Copy)]
pub struct StreamRecord {
    /// Offset in bytes from the start of the pack.
    pub offset: usize,
    /// Size in bytes.
    pub size: usize,
    /// Size in bytes after decompression.
    pub inflated_size: usize,
    /// Whether the stream is a zstd frame; otherwise it is a zlib stream.
    pub is_zstd: bool,
}

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
    /// is valid as long as this value exists. The image is aligned to at least 8 bytes, and a NUL
    /// follows it.
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

/// Combines the bytes and tables of a compressed pack, in which each module is a stream.
///
/// # Panics
/// Panics if a stream is outside the bytes, or if an image is outside its module's decompressed
/// stream.
#[inline]
pub const fn compressed(
    name: &'static str,
    section: &'static str,
    bytes: &'static [u8],
    images: &'static [ImageRecord],
    modules: &'static [ModuleRecord],
    streams: &'static [StreamRecord],
) -> KernelPack<Compressed> {
    if let Some(problem) = problem_of_streams(bytes.len(), images, modules, streams) {
        panic!("{}", problem);
    }
    KernelPack::of(name, section, modules, Content::Linked { bytes, images, streams }).with_trust()
}

/// Returns the first fault in the tables of a compressed pack of `size` bytes.
#[inline]
pub(super) const fn problem_of_streams(
    size: usize,
    images: &[ImageRecord],
    modules: &[ModuleRecord],
    streams: &[StreamRecord],
) -> Option<&'static str> {
    if streams.len() != modules.len() {
        return Some("the numbers of streams and modules in the compressed pack differ");
    }
    let mut i = 0;
    while i < modules.len() {
        let (module, stream) = (&modules[i], &streams[i]);
        if stream.offset > size {
            return Some("a stream starts past the end of its pack");
        }
        if stream.size > size - stream.offset {
            return Some("a stream ends past the end of its pack");
        }
        if module.first > images.len() {
            return Some("a module starts past the last image of its pack");
        }
        if module.count > images.len() - module.first {
            return Some("a module ends past the last image of its pack");
        }
        let mut k = module.first;
        while k < module.first + module.count {
            if images[k].offset > stream.inflated_size {
                return Some("an image starts past the end of its module");
            }
            if images[k].size > stream.inflated_size - images[k].offset {
                return Some("an image ends past the end of its module");
            }
            k += 1;
        }
        i += 1;
    }
    None
}

impl<F: Form> PackImage<F> {
    /// Whether the image is compressed.
    pub fn is_compressed(&self) -> bool {
        self.stream.is_some()
    }

    /// Returns the image's bytes, for compressed and plain packs. In a compressed pack, the call
    /// also decompresses the bytes before the image in its module, and discards them. It does not
    /// decompress the bytes after the image, nor other modules. The result is not cached: each call
    /// decompresses again.
    ///
    /// Returns an error if the crate lacks the feature `zstd` or `zlib` that the pack needs, if
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

    fn append(&self, stream: &StreamRecord, out: &mut Vec<u8>) -> Result<()> {
        const WHAT: &str = "compressed pack";
        let method = if stream.is_zstd { Method::Zstd } else { Method::Zlib };
        // `compressed` has checked the range.
        let input = &self.pack[stream.offset..][..stream.size];
        // Use the record's size as the decoder's limit, since offload-build wrote the pack.
        let limit = (stream.inflated_size as u64).max(1 << 20);
        let mut content = Decompressor::new(method, input, limit, WHAT, stream.offset as u64)?;
        let skipped = content.skip(self.record.offset as u64)?;
        let came = content.append(out, self.record.size)?;
        if skipped == self.record.offset as u64 && came == self.record.size {
            Ok(())
        } else {
            Err(Error::new(ErrorKind::Malformed, WHAT, stream.offset as u64))
        }
    }

    fn too_much(&self, stream: &StreamRecord) -> Error {
        let kind =
            ErrorKind::LimitExceeded { need: self.record.size as u64, limit: isize::MAX as u64 };
        Error::new(kind, "compressed pack", stream.offset as u64)
    }
}

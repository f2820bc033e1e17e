//! Images of compressed packs: each module is a stream of its own, so that one is had without the
//! others.

use super::{Compressed, Content, Form, ImageRecord, KernelPack, ModuleRecord, PackImage};
use alloc::vec::Vec;
use core::ffi::c_void;
use core::fmt;
use core::marker::PhantomData;
use offload_format::compression::{Decompressor, Method};
use offload_format::pack_index::PackImageKind;
use offload_format::{Error, ErrorKind, Result};

/// The place of a module's stream in a compressed pack. The macro writes it.
#[derive(Debug, Clone, Copy)]
pub struct StreamRecord {
    /// Offset in bytes from the start of the pack.
    pub offset: usize,
    /// Size in bytes.
    pub size: usize,
    /// Size in bytes after decompression.
    pub inflated_size: usize,
    /// Whether it is a zstd frame; else a zlib stream.
    pub is_zstd: bool,
}

/// An image's bytes, out of a compressed pack or not. Who decompresses it keeps it, for as long as
/// it is of use.
pub struct Decompressed(Bytes);

enum Bytes {
    /// The images were not compressed: `size` bytes of the pack from `start` on.
    InPack { pack: &'static [u8], start: usize, size: usize },
    /// `size` bytes from `start` on, and a NUL.
    Own { buffer: Vec<u8>, start: usize, size: usize },
}

/// The least alignment of images: more than any driver needs.
const ALIGN: usize = 64;

impl Decompressed {
    /// The image.
    pub fn bytes(&self) -> &[u8] {
        match &self.0 {
            Bytes::InPack { pack, start, size } => &pack[*start..][..*size],
            Bytes::Own { buffer, start, size } => &buffer[*start..][..*size],
        }
    }

    /// Returns the start of the image, for `cuModuleLoadData` and `hipModuleLoadData` as long as
    /// this value lives: a NUL follows, and it is aligned to at least 8 bytes.
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

/// Puts bytes and tables of a compressed pack together: each module is a stream.
///
/// # Panics
/// If a stream is outside the bytes, or an image outside its module's decompressed stream.
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
    KernelPack {
        name,
        section,
        modules,
        content: Content::Linked { bytes, images, streams },
        form: PhantomData,
    }
}

/// Returns the first fault in the tables of a compressed pack of `size` bytes.
pub(super) const fn problem_of_streams(
    size: usize,
    images: &[ImageRecord],
    modules: &[ModuleRecord],
    streams: &[StreamRecord],
) -> Option<&'static str> {
    if streams.len() != modules.len() {
        return Some("a compressed pack has a stream for each module");
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
            return Some("a module starts past the images of its pack");
        }
        if module.count > images.len() - module.first {
            return Some("a module has more images than its pack");
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
    /// Whether [`PackImage::decompress`] has something to do.
    pub fn is_compressed(&self) -> bool {
        self.stream.is_some()
    }

    /// The image's bytes, of packs of both forms. In a compressed pack, the bytes before the image
    /// in its module are decompressed and dropped; the bytes after it and other modules are not
    /// read. Nothing is remembered: asked again, it does it again.
    ///
    /// Returns an error if the crate was built without the feature `zstd` or `zlib` that the pack
    /// needs, if there is no memory for the image, or if the stream is damaged.
    pub fn decompress(&self) -> Result<Decompressed> {
        let Some(stream) = self.stream else {
            let (pack, start, size) = (self.pack, self.record.offset, self.record.size);
            return Ok(Decompressed(Bytes::InPack { pack, start, size }));
        };
        let mut buffer: Vec<u8> = Vec::new();
        let room = self.record.size.saturating_add(ALIGN);
        buffer.try_reserve_exact(room).map_err(|_| self.too_much(stream))?;
        // The buffer has its room, so that its bytes stay where they are.
        let start = buffer.as_ptr().addr().next_multiple_of(ALIGN) - buffer.as_ptr().addr();
        buffer.resize(start, 0);
        self.append(stream, &mut buffer)?;
        let size = buffer.len() - start;
        buffer.push(0);
        Ok(Decompressed(Bytes::Own { buffer, start, size }))
    }

    /// Replaces the contents of `out` by the image's bytes, so that callers can reuse a buffer. PTX
    /// ends with a NUL.
    ///
    /// Returns an error as [`PackImage::decompress`] does.
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
        out.extend(matches!(self.record.kind, PackImageKind::Ptx { .. }).then_some(0));
        Ok(())
    }

    fn append(&self, stream: &StreamRecord, out: &mut Vec<u8>) -> Result<()> {
        const WHAT: &str = "compressed pack";
        let method = if stream.is_zstd { Method::Zstd } else { Method::Zlib };
        // `compressed` has checked the range.
        let input = &self.pack[stream.offset..][..stream.size];
        // Our own packs: the expected size limits the decoder.
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

//! Views of a fatbin.
//!
//! The functions are `#[inline]`, so only build scripts that build static libraries compile them.

use super::{
    ALIGN, Compression, ENTRY_HEADER_SIZE, FLAG_64_BIT, FLAG_ARCH_SPECIFIC, FLAG_DEBUG,
    FLAG_FAMILY_SPECIFIC, FatbinImageKind, HEADER_SIZE, HostOs, MAGIC, OPTIONS_SIZE, VERSION,
};
use crate::budget::Budget;
use crate::in_a_row::in_a_row;
use crate::reader::Reader;
use crate::target::{NvidiaArch, NvidiaCode, NvidiaSuffix};
use crate::{Error, ErrorKind, Result};
use core::fmt;
use core::ops::Range;

/// A fatbin whose headers have all been checked.
#[derive(Clone, Copy)]
pub struct NvFatbin<'data> {
    data: &'data [u8],
    first: u64,
}

impl<'data> NvFatbin<'data> {
    /// Checks the fatbin at the start of `data`, and borrows from `data`, which may continue after
    /// the fatbin.
    ///
    /// Returns an error if the magic or the version is unknown, or if any part exceeds the size
    /// that a header states. Also returns an error if an image is outside its payload, or if images
    /// in a payload overlap.
    #[inline]
    pub fn parse(data: &'data [u8]) -> Result<Self> {
        let reader = Reader::new(data);
        if reader.bytes(0, MAGIC.len() as u64, "fatbin magic")? != MAGIC {
            return Err(Error::new(ErrorKind::BadMagic, "fatbin magic", 0));
        }
        let version = reader.u16(4, "fatbin version")?;
        if version != VERSION {
            let kind = ErrorKind::UnsupportedVersion { version: version.into() };
            return Err(Error::new(kind, "fatbin version", 4));
        }
        let first = u64::from(reader.u16(6, "fatbin header size")?);
        if first < HEADER_SIZE {
            return Err(Error::new(ErrorKind::Malformed, "fatbin header size", 6));
        }
        let size = first.saturating_add(reader.u64(8, "fatbin size")?);
        let data = reader.range(0, size, 8, "fatbin")?;
        let (mut at, mut index) = (first, 0);
        while at < size {
            at = Entry::read(data, at)
                .and_then(|(entry, next)| entry.check_images().map(|()| next))
                .map_err(|error| error.in_entry(index))?;
            index += 1;
        }
        Ok(Self { data, first })
    }

    /// Returns the consecutive fatbins in a section or file, each with its offset in bytes. After
    /// each fatbin, the iterator skips zeros, eight at a time. Iteration ends after the first
    /// error, or when only zeros are left.
    #[inline]
    pub fn in_a_row(data: &'data [u8]) -> impl Iterator<Item = Result<(u64, Self)>> {
        in_a_row(data, ALIGN as usize, |rest| Self::parse(rest).map(|it| (it, it.size())))
    }

    /// Returns the size of the whole fatbin in bytes, from its header.
    pub fn size(&self) -> u64 {
        self.data.len() as u64
    }

    pub(super) fn entry_bytes(&self) -> &'data [u8] {
        usize::try_from(self.first)
            .ok()
            .and_then(|first| self.data.get(first..))
            .unwrap_or_default()
    }

    /// Returns the entries in file order.
    #[inline]
    pub fn entries(&self) -> impl Iterator<Item = Entry<'data>> + use<'data> {
        let (data, mut at) = (self.data, self.first);
        core::iter::from_fn(move || {
            // This fails only at the end, because `NvFatbin::parse` has read every entry.
            let (entry, next) = Entry::read(data, at).ok()?;
            at = next;
            Some(entry)
        })
    }
}

impl fmt::Debug for NvFatbin<'_> {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.entries()).finish()
    }
}

/// One entry: a payload with one image, or with several that were compressed together.
#[derive(Clone, Copy)]
pub struct Entry<'data> {
    header: &'data [u8],
    at: u64,
    /// The stored payload's offset in bytes from the start of the fatbin.
    pub offset: u64,
    /// The kind of the entry's image, or [`FatbinImageKind::GROUP`] if images were compressed
    /// together.
    pub kind: FatbinImageKind,
    /// The compression of the payload.
    pub compression: Compression,
    /// The payload as stored: compressed, or uncompressed with the zeros after it.
    pub stored: &'data [u8],
    /// The size in bytes of the decompressed payload, from the entry's header; for an uncompressed
    /// payload, the size includes the zeros after it.
    pub size: u64,
}

impl<'data> Entry<'data> {
    /// Reads the entry at `at`, without its strings and images, and returns the entry and the
    /// offset of the next one.
    #[inline]
    fn read(data: &'data [u8], at: u64) -> Result<(Self, u64)> {
        let reader = Reader::new(data);
        reader.bytes(at, ENTRY_HEADER_SIZE, "fatbin entry")?;
        let header_size = u64::from(reader.u32(at + 4, "entry header size")?);
        if header_size < ENTRY_HEADER_SIZE {
            return Err(Error::new(ErrorKind::Malformed, "entry header size", at + 4));
        }
        let header = reader.range(at, header_size, at + 4, "entry header")?;
        let offset = at + header_size;
        let padded_size = reader.u64(at + 8, "payload size")?;
        let padded = reader.range(offset, padded_size, at + 8, "payload")?;
        let compression = Compression::of_flags(reader.u64(at + 40, "entry flags")?);
        let (stored, size) = match compression {
            Compression::None => (padded, padded_size),
            _ => {
                let size = reader.u32(at + 16, "compressed size")?.into();
                let stored = Reader::new(padded).range(0, size, at + 16, "compressed payload")?;
                (stored, reader.u64(at + 56, "uncompressed size")?)
            }
        };
        let kind = FatbinImageKind(reader.u16(at, "image kind")?);
        Ok((Self { header, at, offset, kind, compression, stored, size }, offset + padded_size))
    }

    /// Returns the offset of the name's length field and the range of the name, both relative to
    /// the start of the fatbin. Returns `None` if the entry has no name.
    #[inline]
    pub(super) fn name_range(&self) -> Option<(usize, Range<usize>)> {
        let reader = Reader::new(self.header);
        let start = reader.u32(32, "name offset").ok().filter(|start| *start != 0)?;
        let length = reader.u32(36, "name length").ok()?;
        reader.bytes(start.into(), length.into(), "name").ok()?;
        let at = usize::try_from(self.at).ok()?;
        let start = at + usize::try_from(start).ok()?;
        Some((at + 36, start..start + usize::try_from(length).ok()?))
    }

    #[inline]
    fn check_images(&self) -> Result<()> {
        let check = || -> Result<()> {
            let (mut images, count) = Images::read(self)?;
            // Without this check, very many images could overlap in a large payload.
            let what = "image table (images together larger than the payload)";
            let mut budget = Budget::new(self.size, 1, what);
            for _ in 0..count {
                budget.spend(images.read_next()?.size).map_err(|error| error.shifted(8))?;
            }
            Ok(())
        };
        check().map_err(|error| error.shifted(self.at))
    }

    /// Returns the images in the payload: one, or several that were compressed together. With the
    /// feature `containers`, `decompress` returns the images' bytes.
    #[inline]
    pub fn images(&self) -> impl Iterator<Item = Image<'data>> + use<'data> {
        let mut images = Images::read(self).ok();
        core::iter::from_fn(move || {
            // `NvFatbin::parse` has already read all images, so an error means the end.
            let (images, left) = images.as_mut()?;
            *left = left.checked_sub(1)?;
            images.read_next().ok()
        })
    }
}

impl fmt::Debug for Entry<'_> {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entry")
            .field("kind", &self.kind)
            .field("compression", &self.compression)
            .field("offset", &self.offset)
            .field("stored_size", &self.stored.len())
            .field("size", &self.size)
            .field("images", &self.images().collect::<alloc::vec::Vec<_>>())
            .finish()
    }
}

/// The images of an [`Entry`], in file order.
struct Images<'data> {
    /// The consecutive headers of all images.
    headers: &'data [u8],
    at: u64,
    is_group: bool,
    payload_size: u64,
}

impl<'data> Images<'data> {
    /// Finds the headers of the images. Returns the headers and the number of images.
    #[inline]
    fn read(entry: &Entry<'data>) -> Result<(Self, u32)> {
        let one = Self { headers: entry.header, at: 0, is_group: false, payload_size: entry.size };
        if entry.kind != FatbinImageKind::GROUP {
            return Ok((one, 1));
        }
        let reader = Reader::new(entry.header);
        let table = u64::from(reader.u32(20, "image table offset")?);
        reader.range(table, OPTIONS_SIZE, 20, "image table")?;
        let count = reader.u32(table, "number of images")?;
        let size = reader.u32(table + 4, "image table size")?.into();
        let headers = reader.range(table, size, table + 4, "image table")?;
        Ok((Self { headers, at: OPTIONS_SIZE, is_group: true, ..one }, count))
    }

    #[inline]
    fn read_next(&mut self) -> Result<Image<'data>> {
        let reader = Reader::new(self.headers);
        let rest =
            reader.range(self.at, reader.len().saturating_sub(self.at), self.at, "image header")?;
        let (image, size) = if self.is_group {
            Image::read_in_group(rest, self.payload_size)
        } else {
            Image::read(rest, 0, self.payload_size)
        }
        .map_err(|error| error.shifted(self.at))?;
        self.at += size;
        Ok(image)
    }
}

/// An image of a fatbin: the fields of its header.
#[derive(Debug, Clone, Copy)]
pub struct Image<'data> {
    /// The kind of this image.
    pub kind: FatbinImageKind,
    /// The version of the code, major and minor. For PTX this is the version of its ISA (8, 0); for
    /// a cubin, 1 and its ABI version.
    pub version: (u16, u16),
    /// The compute capability times ten: 90 for `sm_90a`, 80 for `lto_80`, 0 if there is none.
    pub compute_capability: u32,
    /// All flags as stored; the module's page lists them.
    pub flags: u64,
    /// The name of the image, usually a source file; empty if there is none. The name is not always
    /// UTF-8.
    pub name: &'data [u8],
    /// Options for ptxas (PTX) or for the optimizer (LTO-IR), or the section `.nv.compat` of a
    /// cubin. Empty if there are none.
    pub options: &'data [u8],
    #[cfg_attr(
        not(feature = "containers"),
        expect(dead_code, reason = "only code for payloads reads the field")
    )]
    pub(super) start: u64,
    /// The size in bytes from the header, including zeros after the image.
    pub size: u64,
}

impl<'data> Image<'data> {
    /// Reads an image's header at the start of `data`. The image is at offset `start` of the
    /// payload and has `size` bytes. Returns the image and the header's size, including the
    /// strings.
    #[inline]
    fn read(data: &'data [u8], start: u64, size: u64) -> Result<(Self, u64)> {
        let reader = Reader::new(data);
        reader.bytes(0, ENTRY_HEADER_SIZE, "image header")?;
        let kind = FatbinImageKind(reader.u16(0, "image kind")?);
        let (mut name, mut options): (&[u8], &[u8]) = (&[], &[]);
        let mut end = ENTRY_HEADER_SIZE;
        let name_at = u64::from(reader.u32(32, "name offset")?);
        if name_at != 0 {
            name = reader.range(name_at, reader.u32(36, "name length")?.into(), 32, "name")?;
            end = end.max(name_at + name.len() as u64 + 1);
        }
        let options_at = u64::from(reader.u32(20, "options offset")?);
        if options_at != 0 && kind != FatbinImageKind::GROUP {
            reader.range(options_at, OPTIONS_SIZE, 20, "options")?;
            let mut at = u64::from(reader.u32(options_at, "options offset")?);
            let size = u64::from(reader.u32(options_at + 4, "options length")?);
            if kind == FatbinImageKind::CUBIN {
                // The string of a cubin starts with a zero byte, which the length does not include.
                at += 1;
            }
            options = reader.range(at, size, options_at, "options")?;
            end = end.max(at + size + u64::from(kind != FatbinImageKind::CUBIN));
        }
        let version = (reader.u16(26, "code version")?, reader.u16(24, "code version")?);
        let (compute_capability, flags) =
            (reader.u32(28, "compute capability")?, reader.u64(40, "image flags")?);
        let image = Self { kind, version, compute_capability, flags, name, options, start, size };
        Ok((image, end.next_multiple_of(ALIGN)))
    }

    /// Reads an entry of a group's table. The entry's header contains the image's position in the
    /// payload.
    #[inline]
    fn read_in_group(data: &'data [u8], payload_size: u64) -> Result<(Self, u64)> {
        let reader = Reader::new(data);
        let start = u64::from(reader.u32(4, "image offset")?);
        let size = reader.u64(8, "image size")?;
        if start.saturating_add(size) > payload_size {
            let kind = ErrorKind::OutOfBounds { start, size, len: payload_size };
            return Err(Error::new(kind, "image", 4));
        }
        Self::read(data, start, size)
    }

    /// Returns the target of the image, such as `sm_90a` or `compute_90`. Returns `None` if the
    /// image is neither machine code nor PTX, or if the compute capability does not have two or
    /// three digits.
    #[inline]
    pub fn arch(&self) -> Option<NvidiaArch> {
        let code = match self.kind {
            FatbinImageKind::CUBIN => NvidiaCode::Cubin,
            kind if kind.is_ptx() => NvidiaCode::Ptx,
            _ => return None,
        };
        let (major, minor) = (self.compute_capability / 10, self.compute_capability % 10);
        (10..1000).contains(&self.compute_capability).then_some(NvidiaArch {
            code,
            major,
            minor,
            suffix: self.suffix(),
        })
    }

    /// Returns the suffix of the compute capability, `a` or `f`, if there is one. If both flags are
    /// set, nvJitLink 13.5 uses `a`.
    pub fn suffix(&self) -> Option<NvidiaSuffix> {
        if self.flags & FLAG_ARCH_SPECIFIC != 0 {
            Some(NvidiaSuffix::ArchSpecific)
        } else if self.flags & FLAG_FAMILY_SPECIFIC != 0 {
            Some(NvidiaSuffix::FamilySpecific)
        } else {
            None
        }
    }

    /// Returns the host system that the image was packed for.
    #[inline]
    pub fn host(&self) -> Option<HostOs> {
        HostOs::of_flags(self.flags)
    }

    /// Whether the image is for a 64-bit host.
    pub fn is_64_bit(&self) -> bool {
        self.flags & FLAG_64_BIT != 0
    }

    /// Whether the image was packed with the flag for debug information.
    pub fn has_debug_info(&self) -> bool {
        self.flags & FLAG_DEBUG != 0
    }
}

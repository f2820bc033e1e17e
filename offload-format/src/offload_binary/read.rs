//! Views of offload binaries.

use super::{ENTRY_SIZE, HEADER_SIZE, ImageKind, MAGIC, OffloadKind, STRING_PAIR_SIZE, VERSION};
use crate::reader::Reader;
use crate::{Error, ErrorKind, Result};
use core::fmt;

/// Pairs may share text, and a small file could so ask for reading it millions of times. All pairs together may have this many
/// times the binary's own size.
const TEXT_LIMIT: u64 = 64;

/// One offload binary whose header, entry and strings have been checked.
#[derive(Clone, Copy)]
pub struct OffloadBinary<'data> {
    data: &'data [u8],
    image_kind: ImageKind,
    offload_kind: OffloadKind,
    flags: u32,
    strings_offset: u64,
    strings: u64,
    image_offset: u64,
    image: &'data [u8],
}

impl<'data> OffloadBinary<'data> {
    /// Checks the binary at the start of `data` and borrows from it; `data` may go on behind it.
    ///
    /// Returns an error if the magic or the version is another, if anything lies outside the size that the header gives,
    /// or if a string is not UTF-8.
    pub fn parse(data: &'data [u8]) -> Result<Self> {
        let reader = Reader::new(data);
        let magic = reader.bytes(0, MAGIC.len() as u64, "offload binary magic")?;
        if magic != MAGIC {
            return Err(Error::new(ErrorKind::BadMagic, "offload binary magic", 0));
        }
        let version = reader.u32(4, "offload binary version")?;
        if version != VERSION {
            let kind = ErrorKind::UnsupportedVersion { version: version.into() };
            return Err(Error::new(kind, "offload binary version", 4));
        }
        let size = reader.u64(8, "offload binary size")?;
        let data = reader.range(0, size, 8, "offload binary")?;
        let reader = Reader::new(data);
        let entry_offset = reader.u64(16, "entry offset")?;
        reader.bytes(0, HEADER_SIZE, "offload binary header")?;
        let entry = Reader::new(reader.range(entry_offset, ENTRY_SIZE, 16, "offload entry")?);
        let strings_offset = entry.u64(8, "string pairs offset")?;
        let strings = entry.u64(16, "string pair count")?;
        let image_offset = entry.u64(24, "image offset")?;
        let image_size = entry.u64(32, "image size")?;
        let field = entry_offset + 24;
        let image = reader.range(image_offset, image_size, field, "device image")?;
        let pairs = strings.saturating_mul(STRING_PAIR_SIZE);
        reader.range(strings_offset, pairs, entry_offset + 8, "string pairs")?;
        let mut text = 0;
        for index in 0..strings {
            let (key, value) = read_pair(data, strings_offset, index).map_err(|error| error.in_entry(index))?;
            text += (key.len() + value.len()) as u64;
            if text > TEXT_LIMIT * reader.len() {
                let error =
                    Error::new(ErrorKind::Malformed, "string map (its pairs share too much text)", strings_offset);
                return Err(error.in_entry(index));
            }
        }
        Ok(Self {
            data,
            image_kind: ImageKind(entry.u16(0, "image kind")?),
            offload_kind: OffloadKind(entry.u16(2, "offload kind")?),
            flags: entry.u32(4, "entry flags")?,
            strings_offset,
            strings,
            image_offset,
            image,
        })
    }

    /// Size of the whole binary in bytes, as its header has it.
    pub fn size(&self) -> u64 {
        self.data.len() as u64
    }

    /// What kind of file the image is.
    pub fn image_kind(&self) -> ImageKind {
        self.image_kind
    }

    /// Which programming model made the image.
    pub fn offload_kind(&self) -> OffloadKind {
        self.offload_kind
    }

    /// The entry's flags.
    pub fn flags(&self) -> u32 {
        self.flags
    }

    /// The device image.
    pub fn image(&self) -> &'data [u8] {
        self.image
    }

    /// Offset in bytes of the device image from the start of the binary.
    pub fn image_offset(&self) -> u64 {
        self.image_offset
    }

    /// All string pairs, in file order.
    pub fn strings(&self) -> Strings<'data> {
        Strings { data: self.data, offset: self.strings_offset, next: 0, count: self.strings }
    }

    /// The value of a key.
    pub fn string(&self, key: &str) -> Option<&'data str> {
        self.strings().find(|(found, _)| *found == key).map(|(_, value)| value)
    }

    /// The string `triple`.
    pub fn triple(&self) -> Option<&'data str> {
        self.string("triple")
    }

    /// The string `arch`: a target ID, `sm_80`, `compute_80`.
    pub fn arch(&self) -> Option<&'data str> {
        self.string("arch")
    }
}

impl fmt::Debug for OffloadBinary<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OffloadBinary")
            .field("image_kind", &self.image_kind)
            .field("offload_kind", &self.offload_kind)
            .field("strings", &self.strings())
            .field("image_offset", &self.image_offset)
            .field("image_size", &self.image.len())
            .finish()
    }
}

fn read_pair(data: &[u8], strings_offset: u64, index: u64) -> Result<(&str, &str)> {
    let reader = Reader::new(data);
    let at = strings_offset + index * STRING_PAIR_SIZE;
    let string = |field: u64, what: &'static str| {
        let offset = reader.u64(field, what)?;
        let tail = reader.range(offset, reader.len().saturating_sub(offset), field, what)?;
        let end = tail.iter().position(|&byte| byte == 0);
        let end = end.ok_or(Error::new(ErrorKind::Malformed, what, field))?;
        str::from_utf8(&tail[..end]).map_err(|_| Error::new(ErrorKind::Malformed, what, field))
    };
    Ok((string(at, "string key")?, string(at + 8, "string value")?))
}

/// The string pairs of an [`OffloadBinary`]; returned by [`OffloadBinary::strings`].
#[derive(Clone)]
pub struct Strings<'data> {
    data: &'data [u8],
    offset: u64,
    next: u64,
    count: u64,
}

impl<'data> Iterator for Strings<'data> {
    type Item = (&'data str, &'data str);

    fn next(&mut self) -> Option<Self::Item> {
        if self.next == self.count {
            return None;
        }
        // `OffloadBinary::parse` has read every pair.
        let pair = read_pair(self.data, self.offset, self.next).ok();
        self.next += 1;
        pair
    }
}

impl fmt::Debug for Strings<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.clone()).finish()
    }
}

/// The offload binaries of a section or file, one after another; each with its offset in bytes.
///
/// The step from one to the next is its size, rounded up to 8. Iteration ends at the end of the bytes, after the first
/// error, or where only zero bytes are left.
#[derive(Debug, Clone)]
pub struct OffloadBinaries<'data> {
    data: &'data [u8],
    at: usize,
}

impl<'data> OffloadBinaries<'data> {
    /// Iterates over the offload binaries in `data`.
    pub fn new(data: &'data [u8]) -> Self {
        Self { data, at: 0 }
    }
}

impl<'data> Iterator for OffloadBinaries<'data> {
    type Item = Result<(u64, OffloadBinary<'data>)>;

    fn next(&mut self) -> Option<Self::Item> {
        let rest = self.data.get(self.at..)?;
        if rest.iter().all(|&byte| byte == 0) {
            return None;
        }
        let at = self.at;
        let parsed = OffloadBinary::parse(rest);
        self.at = match &parsed {
            Ok(binary) => at + binary.data.len().next_multiple_of(super::ALIGN as usize),
            Err(_) => usize::MAX,
        };
        Some(parsed.map(|binary| (at as u64, binary)).map_err(|error| error.shifted(at as u64)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::OffloadBinaryBuilder;
    use super::*;

    #[test]
    fn text_that_is_shared_too_often() {
        let with_pairs = |pairs: usize| {
            let mut builder = OffloadBinaryBuilder::new(ImageKind::NONE, OffloadKind::NONE);
            let value = "v".repeat(20_000);
            for number in 0..pairs {
                builder.string(&alloc::format!("key{number}"), &value);
            }
            builder.layout(0).to_vec(&[b""])
        };
        assert!(OffloadBinary::parse(&with_pairs(64)).is_ok());
        let error = OffloadBinary::parse(&with_pairs(200)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Malformed);
    }
}

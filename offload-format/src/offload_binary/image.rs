//! The images of an offload binary, and their strings.

use super::{OffloadKind, StatedKind, Version};
use crate::budget::Budget;
use crate::reader::Reader;
use crate::{Error, ErrorKind, Result};
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

/// One device image, with its strings.
#[derive(Clone, Copy)]
pub struct Image<'data> {
    binary: &'data [u8],
    version: Version,
    /// The kind of the image's file.
    pub image_kind: StatedKind,
    /// The programming model that the image was compiled for: OpenMP, CUDA, HIP, SYCL.
    pub offload_kind: OffloadKind,
    /// The flags of the entry. LLVM 22 writes 0; in later versions, bit 0 marks an entry with
    /// strings but without an image.
    pub flags: u32,
    strings_offset: u64,
    strings: u64,
    /// The image's offset in bytes from the start of the binary.
    pub offset: u64,
    /// The bytes of the image.
    pub data: &'data [u8],
}

impl<'data> Image<'data> {
    /// Reads a binary's entry at `at`, without checking its strings.
    pub(super) fn read(binary: &'data [u8], version: Version, at: u64) -> Result<Self> {
        let reader = Reader::new(binary);
        let strings_offset = reader.u64(at + 8, "string pairs offset")?;
        let strings = reader.u64(at + 16, "string pair count")?;
        let offset = reader.u64(at + 24, "image offset")?;
        let size = reader.u64(at + 32, "image size")?;
        let pairs = strings.saturating_mul(version.string_pair_size());
        reader.range(strings_offset, pairs, at + 8, "string pairs")?;
        Ok(Self {
            binary,
            version,
            image_kind: StatedKind(reader.u16(at, "image kind")?),
            offload_kind: OffloadKind(reader.u16(at + 2, "offload kind")?),
            flags: reader.u32(at + 4, "entry flags")?,
            strings_offset,
            strings,
            offset,
            data: reader.range(offset, size, at + 24, "device image")?,
        })
    }

    /// Reads every string pair, and spends the size of the pair and its text.
    pub(super) fn check_strings(&self, entry_offset: u64, budget: &mut Budget) -> Result<()> {
        for index in 0..self.strings {
            let (key, value) = self.string_pair(index)?;
            let text = self.version.string_pair_size() + (key.len() + value.len()) as u64;
            budget.spend(text).map_err(|error| error.shifted(entry_offset + 8))?;
        }
        Ok(())
    }

    /// Returns all string pairs, in file order. LLVM's tools write only text as values, but from
    /// version 2 on, the format allows any bytes.
    pub fn strings(&self) -> impl Iterator<Item = (&'data str, &'data [u8])> + use<'data> {
        let image = *self;
        // This cannot fail: `OffloadBinary::parse` has read every pair.
        (0..self.strings).filter_map(move |index| image.string_pair(index).ok())
    }

    fn string_pair(&self, index: u64) -> Result<(&'data str, &'data [u8])> {
        let reader = Reader::new(self.binary);
        let at = self.strings_offset + index * self.version.string_pair_size();
        let key = str::from_utf8(terminated(reader, at, "string key")?)
            .map_err(|_| Error::new(ErrorKind::Malformed, "string key", at))?;
        let value_at = at + 8;
        let value = match self.version {
            Version::V1 => terminated(reader, value_at, "string value")?,
            Version::V2 | Version::V3 => {
                let offset = reader.u64(value_at, "string value")?;
                let size = reader.u64(value_at + 8, "string value size")?;
                reader.range(offset, size, value_at, "string value")?
            }
        };
        Ok((key, value))
    }

    /// Returns the value of a key. If the key occurs several times, returns the last value, as LLVM
    /// does.
    pub fn bytes(&self, key: &str) -> Option<&'data [u8]> {
        self.strings().filter(|(found, _)| *found == key).last().map(|(_, value)| value)
    }

    /// Returns the value of a key, if it is text (UTF-8).
    pub fn string(&self, key: &str) -> Option<&'data str> {
        str::from_utf8(self.bytes(key)?).ok()
    }

    /// Returns the string `triple`: the target triple.
    pub fn triple(&self) -> Option<&'data str> {
        self.string("triple")
    }

    /// Returns the string `arch`: a target ID, or an architecture such as `sm_80` or `compute_80`.
    pub fn arch(&self) -> Option<&'data str> {
        self.string("arch")
    }
}

impl fmt::Debug for Image<'_> {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let strings: Vec<_> =
            self.strings().map(|(key, value)| (key, String::from_utf8_lossy(value))).collect();
        f.debug_struct("Image")
            .field("image_kind", &self.image_kind)
            .field("offload_kind", &self.offload_kind)
            .field("flags", &self.flags)
            .field("strings", &strings)
            .field("offset", &self.offset)
            .field("size", &self.data.len())
            .finish()
    }
}

/// Returns the NUL-terminated bytes at the offset stored in the field at `field`.
fn terminated<'data>(reader: Reader<'data>, field: u64, what: &'static str) -> Result<&'data [u8]> {
    let offset = reader.u64(field, what)?;
    let tail = reader.range(offset, reader.len().saturating_sub(offset), field, what)?;
    let end = tail.iter().position(|&byte| byte == 0);
    end.map(|end| &tail[..end]).ok_or(Error::new(ErrorKind::Malformed, what, field))
}

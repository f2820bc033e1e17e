//! Reads bytes. All slicing of a file's bytes by offsets and sizes from the file happens here,
//! except for the sections of host files, which the crate `object` reads.

use crate::{Error, ErrorKind, Result};

/// Little-endian reads at checked offsets, in bytes from the start of `data`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reader<'data> {
    data: &'data [u8],
}

impl<'data> Reader<'data> {
    pub(crate) fn new(data: &'data [u8]) -> Self {
        Self { data }
    }

    pub(crate) fn len(&self) -> u64 {
        self.data.len() as u64
    }

    /// Returns `size` bytes at `offset`. The offset and the size come from the caller, not from the
    /// file, so missing bytes mean that the file is truncated.
    pub(crate) fn bytes(&self, offset: u64, size: u64, what: &'static str) -> Result<&'data [u8]> {
        self.get(offset, size).ok_or_else(|| {
            let have = self.len().saturating_sub(offset);
            Error::new(ErrorKind::Truncated { need: size, have }, what, offset)
        })
    }

    /// Returns `size` bytes at `start`. The range comes from the field at offset `field`, which
    /// errors report.
    pub(crate) fn range(
        &self,
        start: u64,
        size: u64,
        field: u64,
        what: &'static str,
    ) -> Result<&'data [u8]> {
        self.get(start, size).ok_or_else(|| {
            let len = self.len();
            Error::new(ErrorKind::OutOfBounds { start, size, len }, what, field)
        })
    }

    fn get(&self, offset: u64, size: u64) -> Option<&'data [u8]> {
        let start = usize::try_from(offset).ok()?;
        let end = usize::try_from(offset.checked_add(size)?).ok()?;
        self.data.get(start..end)
    }

    fn array<const N: usize>(&self, offset: u64, what: &'static str) -> Result<[u8; N]> {
        let bytes = self.bytes(offset, N as u64, what)?;
        bytes.try_into().map_err(|_| Error::new(ErrorKind::Malformed, what, offset))
    }

    #[cfg(feature = "packs")]
    pub(crate) fn u8(&self, offset: u64, what: &'static str) -> Result<u8> {
        self.array::<1>(offset, what).map(|[byte]| byte)
    }

    #[cfg(feature = "packs")]
    pub(crate) fn u16(&self, offset: u64, what: &'static str) -> Result<u16> {
        self.array(offset, what).map(u16::from_le_bytes)
    }

    pub(crate) fn u32(&self, offset: u64, what: &'static str) -> Result<u32> {
        self.array(offset, what).map(u32::from_le_bytes)
    }

    #[cfg(feature = "packs")]
    pub(crate) fn u64(&self, offset: u64, what: &'static str) -> Result<u64> {
        self.array(offset, what).map(u64::from_le_bytes)
    }
}

//! Offload binaries in a row.

use super::{ALIGN, OffloadBinary};
use crate::Result;

/// The offload binaries of a section or file, one after another; each with its offset in bytes.
/// Their versions may differ.
///
/// After each binary, whose size is rounded up to 8, the iterator skips zeros, eight at a time.
/// Iteration ends at the end of the bytes, after the first error, or where only zero bytes are
/// left.
///
/// The format and its references are on the [module's page](super).
#[derive(Debug, Clone)]
pub struct OffloadBinaries<'data> {
    data: &'data [u8],
    at: usize,
}

impl<'data> OffloadBinaries<'data> {
    /// Returns an iterator over the offload binaries in `data`.
    pub fn new(data: &'data [u8]) -> Self {
        Self { data, at: 0 }
    }
}

impl<'data> Iterator for OffloadBinaries<'data> {
    type Item = Result<(u64, OffloadBinary<'data>)>;

    fn next(&mut self) -> Option<Self::Item> {
        let rest = self.data.get(self.at..)?;
        let zeros = rest.iter().position(|&byte| byte != 0)?;
        let gap = zeros - zeros % ALIGN as usize;
        let at = self.at + gap;
        let parsed = OffloadBinary::parse(rest.get(gap..)?);
        self.at = match &parsed {
            // The size of a binary does not exceed the remaining bytes, so the conversion to
            // `usize` keeps its value.
            Ok(binary) => at + (binary.size().next_multiple_of(ALIGN) as usize),
            Err(_) => usize::MAX,
        };
        Some(parsed.map(|binary| (at as u64, binary)).map_err(|error| error.shifted(at as u64)))
    }
}

//! Offload binaries in a row.

use super::{ALIGN, OffloadBinary};
use crate::{Result, in_a_row};

/// The offload binaries of a section or file, one after another; each with its offset in bytes.
/// Their versions may differ.
///
/// After each binary, whose size is rounded up to 8, the iterator skips zeros, eight at a time.
/// Iteration ends at the end of the bytes, after the first error, or where only zero bytes are
/// left.
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
        in_a_row::next(
            self.data,
            &mut self.at,
            ALIGN as usize,
            OffloadBinary::parse,
            OffloadBinary::size,
        )
    }
}

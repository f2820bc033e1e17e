//! Several fatbins in a row.

use super::{ALIGN, NvFatbin};
use crate::{Result, in_a_row};

/// The fatbins of a section or file, one after another; each with its offset in bytes. A linker
/// puts the fatbins of all objects one after another.
///
/// After each fatbin, the iterator skips zeros, eight at a time. Iteration ends at the end of the
/// bytes, after the first error, or where only zero bytes are left.
#[derive(Debug, Clone)]
pub struct NvFatbins<'data> {
    data: &'data [u8],
    at: usize,
}

impl<'data> NvFatbins<'data> {
    /// Returns an iterator over the fatbins in `data`.
    pub fn new(data: &'data [u8]) -> Self {
        Self { data, at: 0 }
    }
}

impl<'data> Iterator for NvFatbins<'data> {
    type Item = Result<(u64, NvFatbin<'data>)>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        in_a_row::next(self.data, &mut self.at, ALIGN as usize, NvFatbin::parse, NvFatbin::size)
    }
}

//! Several bundles in a row.

use super::Oxart;
use crate::{Result, in_a_row};

/// The bundles of a section or file, one after another; each with its offset in bytes.
///
/// Between bundles, the iterator skips zeros. Iteration ends at the end of the bytes, after the
/// first error, or where only zero bytes are left.
#[derive(Debug, Clone)]
pub struct Oxarts<'data> {
    data: &'data [u8],
    at: usize,
}

impl<'data> Oxarts<'data> {
    /// Returns an iterator over the bundles in `data`.
    pub fn new(data: &'data [u8]) -> Self {
        Self { data, at: 0 }
    }
}

impl<'data> Iterator for Oxarts<'data> {
    type Item = Result<(u64, Oxart<'data>)>;

    fn next(&mut self) -> Option<Self::Item> {
        in_a_row::next(self.data, &mut self.at, 1, Oxart::parse, |bundle| {
            bundle.bytes().len() as u64
        })
    }
}

//! Several fatbins in a row.

use super::{ALIGN, NvFatbin};
use crate::Result;

/// The fatbins of a section or file, one after another; each with its offset in bytes. A linker
/// puts the fatbins of all objects one after another.
///
/// After each fatbin, the iterator skips zeros, eight at a time. Iteration ends at the end of the
/// bytes, after the first error, or where only zero bytes are left.
///
/// The format and its references are on the [module's page](super).
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

    fn next(&mut self) -> Option<Self::Item> {
        let rest = self.data.get(self.at..)?;
        let zeros = rest.iter().position(|&byte| byte != 0)?;
        let gap = zeros - zeros % ALIGN as usize;
        let at = self.at + gap;
        let parsed = NvFatbin::parse(rest.get(gap..)?);
        self.at = match &parsed {
            Ok(fatbin) => at + (fatbin.size() as usize).next_multiple_of(ALIGN as usize),
            Err(_) => usize::MAX,
        };
        Some(parsed.map(|fatbin| (at as u64, fatbin)).map_err(|error| error.shifted(at as u64)))
    }
}

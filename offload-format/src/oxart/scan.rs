//! Several bundles in a row.

use super::Oxart;
use crate::Result;

/// The bundles of a section or file, one after another; each with its offset in bytes.
///
/// Between bundles, the iterator skips zeros. Iteration ends at the end of the bytes, after the
/// first error, or where only zero bytes are left.
///
/// The format and its references are on the [module's page](super).
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
        let rest = self.data.get(self.at..)?;
        let zeros = rest.iter().position(|&byte| byte != 0)?;
        let at = self.at + zeros;
        let parsed = Oxart::parse(rest.get(zeros..)?);
        self.at = match &parsed {
            Ok(bundle) => at + bundle.bytes().len(),
            Err(_) => usize::MAX,
        };
        Some(parsed.map(|bundle| (at as u64, bundle)).map_err(|error| error.shifted(at as u64)))
    }
}

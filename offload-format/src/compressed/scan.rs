//! Bundles in a row, plain and compressed, as linkers leave them in `.hip_fatbin`.

use super::CompressedBundle;
use crate::bundle::{self, Bundle};
use crate::reader::Reader;
use crate::{Error, ErrorKind, Result};

/// A bundle of either kind.
#[derive(Debug, Clone, Copy)]
pub enum Found<'data> {
    /// A binary bundle.
    Plain(Bundle<'data>),
    /// A compressed bundle.
    Compressed(CompressedBundle<'data>),
}

impl<'data> Found<'data> {
    /// Reads the bundle at the start of `data`, which may continue after it.
    ///
    /// Returns an error if there is none, or if it is malformed.
    pub fn parse(data: &'data [u8]) -> Result<Self> {
        if data.starts_with(&super::MAGIC) {
            CompressedBundle::parse(data).map(Found::Compressed)
        } else if data.starts_with(bundle::MAGIC) {
            Bundle::parse(data).map(Found::Plain)
        } else {
            Err(Error::new(ErrorKind::BadMagic, "magic of a bundle or compressed bundle", 0))
        }
    }
}

/// The bundles of a section, with their offsets in bytes from its start. Zeros between them are
/// skipped.
///
/// A bundle's table or header gives its end. The reader never looks for the next magic, which a
/// payload may contain. After the first error, the iterator ends.
#[derive(Debug, Clone)]
pub struct Bundles<'data> {
    section: &'data [u8],
    at: u64,
    limit: u64,
}

impl<'data> Bundles<'data> {
    /// Returns the bundles from the start of a section on. `limit` is the maximum number of bytes
    /// that may be allocated to find the end of a compressed bundle of version 1. Such a bundle
    /// does not record its end.
    pub fn new(section: &'data [u8], limit: u64) -> Self {
        Self { section, at: 0, limit }
    }

    fn found(&self, rest: &'data [u8]) -> Result<(Found<'data>, u64)> {
        let found = Found::parse(rest)?;
        let size = match &found {
            Found::Plain(bundle) => bundle.size(),
            Found::Compressed(bundle) => bundle.find_size(self.limit)?,
        };
        Ok((found, size))
    }
}

impl<'data> Iterator for Bundles<'data> {
    type Item = Result<(u64, Found<'data>)>;

    fn next(&mut self) -> Option<Self::Item> {
        let end = self.section.len() as u64;
        let rest =
            Reader::new(self.section).bytes(self.at, end.checked_sub(self.at)?, "section").ok()?;
        let zeros = rest.iter().position(|&byte| byte != 0);
        let at = self.at + zeros.unwrap_or(rest.len()) as u64;
        let rest = Reader::new(self.section).bytes(at, end - at, "section").ok()?;
        if rest.is_empty() {
            return None;
        }
        match self.found(rest) {
            Ok((found, size)) => {
                self.at = at + size;
                Some(Ok((at, found)))
            }
            Err(error) => {
                self.at = u64::MAX;
                Some(Err(error.shifted(at)))
            }
        }
    }
}

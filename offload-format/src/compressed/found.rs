//! Consecutive bundles, plain and compressed, as linkers leave them in `.hip_fatbin`.

use super::CompressedBundle;
use crate::bundle::{self, Bundle};
use crate::in_a_row::in_a_row;
use crate::{Error, ErrorKind, Result};

/// A plain or a compressed bundle.
#[derive(Debug, Clone, Copy)]
pub enum Found<'data> {
    /// A binary bundle.
    Plain(Bundle<'data>),
    /// A compressed bundle.
    Compressed(CompressedBundle<'data>),
}

impl<'data> Found<'data> {
    /// Reads the bundle at the start of `data`. `data` may continue after the bundle.
    ///
    /// Returns an error if `data` does not start with a bundle, or if the bundle is malformed.
    pub fn parse(data: &'data [u8]) -> Result<Self> {
        if data.starts_with(&super::MAGIC) {
            CompressedBundle::parse(data).map(Found::Compressed)
        } else if data.starts_with(bundle::MAGIC) {
            Bundle::parse(data).map(Found::Plain)
        } else {
            Err(Error::new(ErrorKind::BadMagic, "magic of a bundle or compressed bundle", 0))
        }
    }

    /// Returns the bundles of a section, with their offsets in bytes from the section's start.
    /// `limit` is the maximum number of bytes to allocate when looking for the end of a compressed
    /// bundle of version 1, which does not store its size.
    ///
    /// Each bundle's table or header determines where it ends, because a search for the next magic
    /// could stop inside a payload. Zeros between bundles are skipped. The iterator ends after the
    /// first error.
    pub fn in_a_row(section: &'data [u8], limit: u64) -> impl Iterator<Item = Result<(u64, Self)>> {
        in_a_row(section, 1, move |rest| Self::parse_sized(rest, limit))
    }

    /// Reads the bundle at the start of `data`. Returns the bundle and its size in bytes.
    pub(crate) fn parse_sized(data: &'data [u8], limit: u64) -> Result<(Self, u64)> {
        let found = Self::parse(data)?;
        let size = match &found {
            Found::Plain(bundle) => bundle.size(),
            Found::Compressed(bundle) => bundle.find_size(limit)?,
        };
        Ok((found, size))
    }
}

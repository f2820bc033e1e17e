//! The sections to add to an object, and the limit for the object's growth.

use super::SECTION_PREFIX;
use crate::layout::Piece;
use crate::{Error, ErrorKind, Result};
use alloc::string::String;

/// A section to be added.
pub(super) struct NewSection {
    pub(super) name: String,
    pub(super) contents: Piece,
}

/// Limits how many bytes larger than the original file the new file may be.
///
/// Sections of a hostile file may overlap or have any alignment, so without a limit, a small file
/// could grow into a huge one.
pub(super) struct Growth {
    limit: u64,
    left: u64,
}

impl Growth {
    pub(super) fn new(data: &[u8]) -> Self {
        let limit = (data.len() as u64).saturating_mul(4).saturating_add(1 << 20);
        Self { limit, left: limit }
    }

    /// Subtracts `bytes` from the remaining growth. Returns an error if the total exceeds the
    /// limit.
    pub(super) fn take(&mut self, bytes: u64) -> Result<()> {
        let need = (self.limit - self.left).saturating_add(bytes);
        let kind = ErrorKind::LimitExceeded { need, limit: self.limit };
        self.left = self.left.checked_sub(bytes).ok_or(Error::new(
            kind,
            "sections and their alignment padding",
            0,
        ))?;
        Ok(())
    }
}

pub(super) fn is_entry(name: &[u8]) -> bool {
    name.starts_with(SECTION_PREFIX.as_bytes())
}

//! Names in string tables that are read.

use crate::{Error, ErrorKind, Result};

/// Names in a string table of a file.
///
/// They may share their bytes, so that a small file could make its reader look at very many: there is an end to it.
pub(super) struct Names<'a> {
    table: &'a [u8],
    left: usize,
}

/// All names together may be so many times the size of what they are read from. In what compilers write they are a few
/// times the size of the table at most.
pub(super) const NAMES_PER_FILE: usize = 16;

impl<'a> Names<'a> {
    /// The names in `table`, to which records of `records` bytes refer.
    pub(super) fn new(table: &'a [u8], records: usize) -> Self {
        Self { table, left: NAMES_PER_FILE.saturating_mul(table.len() + records) }
    }

    /// The name at `offset`, which ends before a NUL.
    ///
    /// Returns an error if the table ends before, or if too much was read.
    pub(super) fn get(&mut self, offset: u32, what: &'static str) -> Result<&'a [u8]> {
        let rest = usize::try_from(offset).ok().and_then(|offset| self.table.get(offset..)).unwrap_or_default();
        let size = rest.iter().position(|byte| *byte == 0);
        let name = size.and_then(|size| rest.get(..size)).ok_or(Error::new(ErrorKind::Malformed, what, 0))?;
        self.left = self.left.checked_sub(name.len()).ok_or(Error::new(ErrorKind::Malformed, SHARED, 0))?;
        Ok(name)
    }
}

const SHARED: &str = "string table (names share too much text)";

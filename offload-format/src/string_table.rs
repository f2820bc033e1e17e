//! String tables in the order that LLVM 22 gives them: the distinct strings sorted by their reversed bytes, greatest first,
//! each NUL-terminated; a string that the one before ends in shares its bytes. COFF has two groups, section names and symbol
//! names, each sorted by itself.

#[cfg(feature = "object")]
use crate::{Error, ErrorKind, Result};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// A finished string table.
#[derive(Debug)]
pub(crate) struct StringTable<'a> {
    /// All of it, with what it starts with.
    pub(crate) bytes: Vec<u8>,
    offsets: BTreeMap<&'a [u8], u64>,
}

impl<'a> StringTable<'a> {
    /// A table without strings: the bytes that it starts with. If that is a NUL, it is the empty string.
    pub(crate) fn new(start: &[u8]) -> Self {
        let empty = start.starts_with(b"\0").then_some((b"".as_slice(), 0));
        Self { bytes: start.to_vec(), offsets: empty.into_iter().collect() }
    }

    /// Adds a group of strings behind those that are there; those that are there already are not added.
    pub(crate) fn add(&mut self, strings: impl IntoIterator<Item = &'a [u8]>) {
        let mut sorted: Vec<&[u8]> = strings.into_iter().filter(|it| !self.offsets.contains_key(it)).collect();
        sorted.sort_unstable_by(|a, b| b.iter().rev().cmp(a.iter().rev()));
        let mut last: &[u8] = b"";
        for string in sorted {
            if !last.ends_with(string) {
                self.bytes.extend_from_slice(string);
                self.bytes.push(0);
                last = string;
            }
            self.offsets.insert(string, (self.bytes.len() - 1 - string.len()) as u64);
        }
    }

    /// Offset in bytes of a string that the table was made of, from the table's start.
    pub(crate) fn offset(&self, string: &[u8]) -> u64 {
        self.offsets[string]
    }
}

/// Names in a string table of a file.
///
/// They may share their bytes, so that a small file could make its reader look at very many: there is an end to it.
#[cfg(feature = "object")]
pub(crate) struct Names<'a> {
    table: &'a [u8],
    left: usize,
}

/// All names together, and all sections, may be so many times the size of what they are read from. In what compilers write they are a few
/// times the size of the table at most.
#[cfg(feature = "object")]
pub(crate) const NAMES_PER_FILE: usize = 16;

#[cfg(feature = "object")]
impl<'a> Names<'a> {
    /// The names in `table`, to which records of `records` bytes refer.
    pub(crate) fn new(table: &'a [u8], records: usize) -> Self {
        Self { table, left: NAMES_PER_FILE.saturating_mul(table.len() + records) }
    }

    /// The name at `offset`, which ends before a NUL.
    ///
    /// Returns an error if the table ends before, or if too much was read.
    pub(crate) fn get(&mut self, offset: u32, what: &'static str) -> Result<&'a [u8]> {
        let rest = usize::try_from(offset).ok().and_then(|offset| self.table.get(offset..)).unwrap_or_default();
        let size = rest.iter().position(|byte| *byte == 0);
        let name = size.and_then(|size| rest.get(..size)).ok_or(Error::new(ErrorKind::Malformed, what, 0))?;
        self.left = self.left.checked_sub(name.len()).ok_or(Error::new(ErrorKind::Malformed, SHARED, 0))?;
        Ok(name)
    }
}

#[cfg(feature = "object")]
const SHARED: &str = "string table (names share too much text)";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endings_are_shared() {
        let mut table = StringTable::new(b"\0");
        table.add(["arch", "march", "", "x"].map(str::as_bytes));
        assert_eq!(table.bytes, b"\0x\0march\0");
        assert_eq!((table.offset(b"march"), table.offset(b"arch"), table.offset(b"")), (3, 4, 0));
    }
}

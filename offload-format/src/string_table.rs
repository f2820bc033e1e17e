//! String tables in LLVM 22's order: the distinct strings are sorted by their reversed bytes,
//! greatest first, and each is NUL-terminated. A string that is a suffix of the previous one shares
//! its bytes. COFF has two separately sorted groups: section names and symbol names.

#[cfg(feature = "object")]
use crate::budget::Budget;
#[cfg(feature = "object")]
use crate::{Error, ErrorKind, Result};
use alloc::vec;
use alloc::vec::Vec;
use core::cmp::Ordering;

/// A finished string table.
#[derive(Debug)]
pub(crate) struct StringTable<'a> {
    /// The whole table, including its first bytes.
    pub(crate) bytes: Vec<u8>,
    /// The strings of each group in their order, with their offsets.
    groups: Vec<Vec<(&'a [u8], u64)>>,
}

impl<'a> StringTable<'a> {
    /// Returns a table without strings, which starts with the bytes `start`. A leading NUL in
    /// `start` serves as the empty string.
    pub(crate) fn new(start: &[u8]) -> Self {
        let empty: &[u8] = b"";
        let groups = if start.starts_with(b"\0") { vec![vec![(empty, 0)]] } else { Vec::new() };
        Self { bytes: start.to_vec(), groups }
    }

    /// Appends a group of strings, except for those already in the table.
    pub(crate) fn add(&mut self, strings: Vec<&'a [u8]>) {
        let mut sorted = strings;
        sorted.retain(|it| self.find(it).is_none());
        sorted.sort_unstable_by(|a, b| order(a, b));
        let mut last: &[u8] = b"";
        let mut group = Vec::with_capacity(sorted.len());
        for string in sorted {
            if !last.ends_with(string) {
                self.bytes.extend_from_slice(string);
                self.bytes.push(0);
                last = string;
            }
            group.push((string, (self.bytes.len() - 1 - string.len()) as u64));
        }
        self.groups.push(group);
    }

    pub(crate) fn offset(&self, string: &[u8]) -> u64 {
        self.find(string).expect("the table was built from this string")
    }

    fn find(&self, string: &[u8]) -> Option<u64> {
        self.groups.iter().find_map(|group| {
            let at = group.binary_search_by(|(other, _)| order(other, string)).ok()?;
            Some(group[at].1)
        })
    }
}

fn order(a: &[u8], b: &[u8]) -> Ordering {
    b.iter().rev().cmp(a.iter().rev())
}

/// Names in a file's string table.
///
/// Names may share bytes, so those of a small file could add up to very many bytes. This type
/// limits the total.
#[cfg(feature = "object")]
pub(crate) struct Names<'a> {
    table: &'a [u8],
    budget: Budget,
}

/// The maximum total size of all names, as a multiple of the size of the table plus that of the
/// records that refer to it. In compilers' files, the names are at most a few times as large as the
/// table.
#[cfg(feature = "object")]
const NAMES_PER_FILE: u64 = 16;

#[cfg(feature = "object")]
impl<'a> Names<'a> {
    /// Returns the names in `table`. The records that refer to the names have `records` bytes in
    /// total.
    pub(crate) fn new(table: &'a [u8], records: usize) -> Self {
        let size = (table.len() + records) as u64;
        Self { table, budget: Budget::new(size, NAMES_PER_FILE, SHARED) }
    }

    /// Returns the NUL-terminated name at `offset`.
    ///
    /// Returns an error if the table ends before the NUL, or if the names read so far exceed the
    /// limit.
    pub(crate) fn get(&mut self, offset: u32, what: &'static str) -> Result<&'a [u8]> {
        let rest = usize::try_from(offset)
            .ok()
            .and_then(|offset| self.table.get(offset..))
            .unwrap_or_default();
        let size = rest.iter().position(|byte| *byte == 0);
        let name = size.and_then(|size| rest.get(..size)).ok_or(Error::new(
            ErrorKind::Malformed,
            what,
            0,
        ))?;
        self.budget.spend(name.len() as u64)?;
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
        table.add(["arch", "march", "", "x"].map(str::as_bytes).to_vec());
        assert_eq!(table.bytes, b"\0x\0march\0");
        assert_eq!((table.offset(b"march"), table.offset(b"arch"), table.offset(b"")), (3, 4, 0));
    }
}

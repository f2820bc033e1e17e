//! The string table of an offload binary, in the order that LLVM 22 gives it: a NUL, then the distinct strings sorted by
//! their reversed bytes, greatest first, each NUL-terminated; a string that another one ends in shares its bytes.

use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;

/// A finished string table.
#[derive(Debug)]
pub(super) struct StringTable<'a> {
    pub(super) bytes: Vec<u8>,
    offsets: BTreeMap<&'a [u8], u64>,
}

impl<'a> StringTable<'a> {
    pub(super) fn new(strings: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let mut sorted: Vec<&[u8]> = strings.into_iter().collect();
        sorted.sort_unstable_by(|a, b| b.iter().rev().cmp(a.iter().rev()));
        sorted.dedup();
        let mut bytes = vec![0];
        let mut offsets = BTreeMap::new();
        let mut last: &[u8] = b"";
        for string in sorted {
            let offset = if string.is_empty() {
                0
            } else if last.ends_with(string) {
                bytes.len() - 1 - string.len()
            } else {
                bytes.extend_from_slice(string);
                bytes.push(0);
                last = string;
                bytes.len() - 1 - string.len()
            };
            offsets.insert(string, offset as u64);
        }
        Self { bytes, offsets }
    }

    /// Offset in bytes of a string that the table was made of, from the table's start.
    pub(super) fn offset(&self, string: &[u8]) -> u64 {
        self.offsets[string]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endings_are_shared() {
        let table = StringTable::new(["arch", "march", "", "x"].map(str::as_bytes));
        assert_eq!(table.bytes, b"\0x\0march\0");
        assert_eq!((table.offset(b"march"), table.offset(b"arch"), table.offset(b"")), (3, 4, 0));
    }
}

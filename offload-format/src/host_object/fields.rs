//! Headers and tables as runs of little-endian numbers.

use crate::layout::Piece;
use alloc::vec::Vec;

/// The bytes of a header or table. Each method appends fields.
pub(super) struct Fields(Vec<u8>);

impl Fields {
    pub(super) fn new() -> Self {
        Self(Vec::new())
    }

    pub(super) fn bytes(mut self, bytes: &[u8]) -> Self {
        self.0.extend_from_slice(bytes);
        self
    }

    pub(super) fn zeros(mut self, count: usize) -> Self {
        self.0.resize(self.0.len() + count, 0);
        self
    }

    /// Adds a name, padded with zeros to `width` bytes.
    ///
    /// # Panics
    /// Panics if the name has more than `width` bytes.
    pub(super) fn name(self, name: &str, width: usize) -> Self {
        self.bytes(name.as_bytes()).zeros(width - name.len())
    }

    pub(super) fn piece(self) -> Piece {
        Piece::Bytes(self.0)
    }
}

macro_rules! little_endian {
    ($($type:ident)*) => {
        impl Fields {
            $(pub(super) fn $type(mut self, values: &[$type]) -> Self {
                for value in values {
                    self.0.extend_from_slice(&value.to_le_bytes());
                }
                self
            })*
        }
    };
}
little_endian! { u16 u32 u64 }

/// A string table: the leading bytes that the format requires, then NUL-terminated names.
pub(super) struct StringTable(Vec<u8>);

impl StringTable {
    pub(super) fn new(first: &[u8]) -> Self {
        Self(first.into())
    }

    /// Adds a name and returns its offset in bytes.
    pub(super) fn add(&mut self, name: &str) -> u32 {
        let at = self.size() as u32;
        self.0.extend_from_slice(name.as_bytes());
        self.0.push(0);
        at
    }

    /// Returns the size in bytes, including the leading bytes.
    pub(super) fn size(&self) -> u64 {
        self.0.len() as u64
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }
}

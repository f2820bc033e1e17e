//! The differences between ordinary and `/bigobj` COFF objects.

/// The form of a COFF object: ordinary or `/bigobj`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Class {
    /// Whether the object can have more than 65279 sections (`/bigobj`).
    pub(super) is_big: bool,
}

impl Class {
    pub(super) fn header_size(self) -> u64 {
        if self.is_big { 56 } else { 20 }
    }

    /// Returns the offsets of three fields in the file header: the number of sections, the symbol
    /// table's offset, and the number of symbols.
    pub(super) fn counts_at(self) -> [usize; 3] {
        if self.is_big { [44, 48, 52] } else { [2, 8, 12] }
    }

    /// Returns the size in bytes of a section number, in the file header and in symbols.
    pub(super) fn section_number_size(self) -> usize {
        if self.is_big { 4 } else { 2 }
    }

    pub(super) fn symbol_size(self) -> u64 {
        if self.is_big { 20 } else { 18 }
    }

    pub(super) fn section_number(self, bytes: &[u8]) -> u32 {
        let mut number = [0; 4];
        number[..self.section_number_size()].copy_from_slice(&bytes[..self.section_number_size()]);
        u32::from_le_bytes(number)
    }
}

/// The size in bytes of a relocation, in both forms.
pub(super) const RELOCATION_SIZE: u64 = 10;

//! Writing an offload binary.

use super::string_table::StringTable;
use super::{ALIGN, ENTRY_SIZE, HEADER_SIZE, ImageKind, MAGIC, OffloadKind, STRING_PAIR_SIZE, VERSION, key_order};
use crate::layout::{Layout, Piece};
use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;

/// Lays out the offload binary (version 1) that `llvm-offload-binary` 22 writes for
/// `--image=file=<image>,kind=<offload kind>,<strings in the order they were added>`.
#[derive(Debug, Clone)]
pub struct OffloadBinaryBuilder {
    image_kind: ImageKind,
    offload_kind: OffloadKind,
    strings: Vec<(String, String)>,
}

impl OffloadBinaryBuilder {
    /// An offload binary for an image of this kind, made by this programming model, without strings.
    pub fn new(image_kind: ImageKind, offload_kind: OffloadKind) -> Self {
        Self { image_kind, offload_kind, strings: Vec::new() }
    }

    /// Adds a string pair; a key that is there already gets `,` and the value behind its value, as in LLVM's tool.
    ///
    /// # Panics
    /// If key or value has a NUL, which version 1 cannot hold.
    pub fn string(&mut self, key: &str, value: &str) -> &mut Self {
        assert!(!key.contains('\0') && !value.contains('\0'), "a string of an offload binary ends at its first NUL");
        match self.strings.iter_mut().find(|(found, _)| found == key) {
            Some((_, old)) => {
                old.push(',');
                old.push_str(value);
            }
            None => self.strings.push((key.to_owned(), value.to_owned())),
        }
        self
    }

    /// The binary as runs of bytes. The only payload, number 0, is the image of `image_size` bytes. The size is a
    /// multiple of 8.
    pub fn layout(&self, image_size: u64) -> Layout {
        let keys: Vec<&str> = self.strings.iter().map(|(key, _)| key.as_str()).collect();
        let order = key_order::of_llvm_22(&keys);
        let table = StringTable::new(self.strings.iter().flat_map(|(key, value)| [key.as_str(), value.as_str()]));

        let strings_offset = HEADER_SIZE + ENTRY_SIZE;
        let table_offset = strings_offset + STRING_PAIR_SIZE * self.strings.len() as u64;
        let image_offset = (table_offset + table.bytes.len() as u64).next_multiple_of(ALIGN);
        let size = (image_offset + image_size).next_multiple_of(ALIGN);

        let mut head = Vec::with_capacity(image_offset as usize);
        head.extend_from_slice(&MAGIC);
        head.extend_from_slice(&VERSION.to_le_bytes());
        for field in [size, HEADER_SIZE, ENTRY_SIZE] {
            head.extend_from_slice(&field.to_le_bytes());
        }
        head.extend_from_slice(&self.image_kind.0.to_le_bytes());
        head.extend_from_slice(&self.offload_kind.0.to_le_bytes());
        head.extend_from_slice(&0u32.to_le_bytes());
        for field in [strings_offset, self.strings.len() as u64, image_offset, image_size] {
            head.extend_from_slice(&field.to_le_bytes());
        }
        for index in order {
            let (key, value) = &self.strings[index];
            for string in [key, value] {
                head.extend_from_slice(&(table_offset + table.offset(string)).to_le_bytes());
            }
        }
        head.extend_from_slice(&table.bytes);

        let mut layout = Layout::new();
        layout.push(Piece::Bytes(head));
        layout.pad_to(ALIGN);
        layout.push(Piece::Payload { index: 0, size: image_size });
        layout.pad_to(ALIGN);
        layout
    }
}

//! Descriptions of files before they are written.
//!
//! This module defines no file format: each container's module builds the layouts of its format.
//!
//! A container consists of small runs of bytes around large payloads. A [`Layout`] stores these
//! runs, but only a number and a size for each payload. The caller supplies the payloads' bytes:
//! from memory ([`Layout::to_vec`]), or from files, which the operating system can copy without
//! loading them. Layouts nest: [`Layout::nest`] replaces a payload with a whole layout (a bundle
//! inside a host object inside an archive).

use alloc::vec;
use alloc::vec::Vec;

/// One run of bytes in a file to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// Bytes in memory.
    Bytes(Vec<u8>),
    /// A number of zero bytes.
    Zeros(u64),
    /// A payload, with its number and its size in bytes.
    Payload {
        /// The payload's number, which the caller assigns.
        index: usize,
        /// The payload's size in bytes.
        size: u64,
    },
}

impl Piece {
    /// Returns the size in bytes.
    pub fn size(&self) -> u64 {
        match self {
            Piece::Bytes(bytes) => bytes.len() as u64,
            Piece::Zeros(size) | Piece::Payload { size, .. } => *size,
        }
    }
}

/// The description of a file: its runs of bytes, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Layout {
    pieces: Vec<Piece>,
    /// The total size of the pieces, cached because most additions need it.
    size: u64,
}

impl Layout {
    /// Returns an empty layout.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns a layout of nothing but payload `index`, which is `size` bytes long.
    pub fn payload(index: usize, size: u64) -> Self {
        Self { pieces: vec![Piece::Payload { index, size }], size }
    }

    /// Returns the runs, in file order.
    pub fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    /// Returns the size of the whole layout in bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Returns the offset in bytes of payload `index` from the start of the file; `None` if the
    /// layout does not contain this payload.
    pub fn offset_of(&self, index: usize) -> Option<u64> {
        let mut offset = 0;
        for piece in &self.pieces {
            if matches!(piece, Piece::Payload { index: found, .. } if *found == index) {
                return Some(offset);
            }
            offset += piece.size();
        }
        None
    }

    /// Appends a run of bytes.
    pub fn push(&mut self, piece: Piece) {
        if piece.size() > 0 || matches!(piece, Piece::Payload { .. }) {
            self.size += piece.size();
            self.pieces.push(piece);
        }
    }

    /// Adds zero bytes until the size is a multiple of `align`, which need not be a power of two; 0
    /// counts as 1.
    pub fn pad_to(&mut self, align: u64) {
        self.push(Piece::Zeros(self.size.next_multiple_of(align.max(1)) - self.size));
    }

    /// Appends all runs of another layout.
    pub fn append(&mut self, other: Layout) {
        self.size += other.size;
        self.pieces.extend(other.pieces);
    }

    /// Replaces every payload with the layout that `inner` returns for its number.
    ///
    /// # Panics
    /// Panics if the size of a returned layout differs from the payload's size.
    #[must_use]
    pub fn nest(self, mut inner: impl FnMut(usize) -> Layout) -> Layout {
        let mut outer = Layout::new();
        for piece in self.pieces {
            match piece {
                Piece::Payload { index, size } => {
                    let layout = inner(index);
                    assert_eq!(
                        layout.size(),
                        size,
                        "the size of payload {index} differs from its declared size"
                    );
                    outer.append(layout);
                }
                other => outer.push(other),
            }
        }
        outer
    }

    /// Returns the file as bytes, with `payloads[index]` in place of each payload.
    ///
    /// # Panics
    /// Panics if a payload is missing, or if its size differs from the size in the layout.
    #[inline]
    pub fn to_vec(&self, payloads: &[&[u8]]) -> Vec<u8> {
        let mut out = Vec::with_capacity(usize::try_from(self.size()).unwrap_or(0));
        for piece in &self.pieces {
            match piece {
                Piece::Bytes(bytes) => out.extend_from_slice(bytes),
                Piece::Zeros(size) => out.resize(out.len() + *size as usize, 0),
                Piece::Payload { index, size } => {
                    assert_eq!(
                        payloads[*index].len() as u64,
                        *size,
                        "the size of payload {index} differs from its declared size"
                    );
                    out.extend_from_slice(payloads[*index]);
                }
            }
        }
        out
    }
}

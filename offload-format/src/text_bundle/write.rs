//! Writes text bundles.

use super::CommentLeader;
use super::marker::Marker;
use crate::bundle::{Composition, WriteError};
use crate::layout::{Layout, Piece};
use alloc::string::String;
use alloc::vec::Vec;

/// Collects entries and lays out the text bundle that `clang-offload-bundler` 22 writes for them.
///
/// The builder needs only the payloads' sizes: their bytes come from memory or files when the
/// [`Layout`] is written. Readers cut a payload off at the first END line in it.
#[derive(Debug, Clone)]
pub struct TextBundleBuilder {
    leader: CommentLeader,
    composition: Composition,
    entries: Vec<(String, u64)>,
}

impl TextBundleBuilder {
    /// Creates a builder for a bundle whose marker lines start with this leader.
    pub fn new(leader: CommentLeader) -> Self {
        Self { leader, composition: Composition::default(), entries: Vec::new() }
    }

    /// Adds an entry whose payload has `size` bytes. Entries are stored in the order of the calls.
    /// The ID is written in canonical form.
    ///
    /// Returns an error in the same cases as
    /// [`BundleBuilder::entry`](crate::bundle::BundleBuilder::entry).
    pub fn entry(&mut self, id: &str, size: u64) -> Result<&mut Self, WriteError> {
        self.entries.push((self.composition.add(id)?, size));
        Ok(self)
    }

    /// Returns the bundle's layout. Payloads are numbered like the entries, from 0.
    pub fn layout(&self) -> Layout {
        let mut layout = Layout::new();
        for (index, (id, size)) in self.entries.iter().enumerate() {
            layout.push(Piece::Bytes(Marker::Start.line(self.leader, id)));
            layout.push(Piece::Payload { index, size: *size });
            layout.push(Piece::Bytes(Marker::End.line(self.leader, id)));
        }
        layout
    }
}

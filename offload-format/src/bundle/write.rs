//! Writes binary bundles.

use super::{
    Composition, ENTRY_FIXED_SIZE, FIRST_ENTRY_OFFSET, HIP_ALIGN, HIP_HOST_ENTRY_ID, MAGIC,
};
use crate::layout::{Layout, Piece};
use crate::target::ParseError;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

/// Collects entries and lays them out as the bundle that `clang-offload-bundler` 22 would write.
///
/// The builder needs only the code objects' sizes: their bytes come from memory or files when the
/// [`Layout`] is written.
#[derive(Debug, Clone)]
pub struct BundleBuilder {
    align: u64,
    composition: Composition,
    entries: Vec<(String, u64)>,
}

/// The reason an entry cannot be added.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum WriteError {
    /// The bundle entry ID, or the target ID in it, is malformed.
    Id(ParseError),
    /// A bundle cannot contain an entry of this offload kind.
    Kind(String),
    /// The bundle already has an entry with this canonical ID.
    Duplicate(String),
    /// Both entries would fit the same device, so they must not be in the same bundle.
    Conflict(String, String),
}

impl fmt::Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WriteError::Id(error) => error.fmt(f),
            WriteError::Kind(kind) => {
                write!(
                    f,
                    "unknown offload kind '{kind}': a bundle allows host, openmp, hip and hipv4"
                )
            }
            WriteError::Duplicate(id) => write!(f, "an earlier input has the same entry, '{id}'"),
            WriteError::Conflict(a, b) => {
                write!(f, "Cannot bundle inputs with conflicting targets: '{a}' and '{b}'")
            }
        }
    }
}

impl core::error::Error for WriteError {}

impl BundleBuilder {
    /// Returns a builder for an empty bundle that does not align its code objects.
    pub fn new() -> Self {
        Self { align: 1, composition: Composition::default(), entries: Vec::new() }
    }

    /// Returns a builder for a bundle that HIP's runtime can load: the empty host entry comes
    /// first, and code objects are aligned to 4096 bytes.
    pub fn hip() -> Self {
        let mut builder = Self { align: HIP_ALIGN, ..Self::new() };
        builder.entry(HIP_HOST_ENTRY_ID, 0).expect("the ID is well-formed and the first");
        builder
    }

    /// Places every code object at a multiple of `align` bytes from the start. `align` need not be
    /// a power of two; 0 means 1.
    pub fn align(&mut self, align: u64) -> &mut Self {
        self.align = align.max(1);
        self
    }

    /// Adds an entry whose code object has `size` bytes. Entries are stored in the order of the
    /// calls. Like LLVM's tool, the builder writes the ID in canonical form, but keeps the target
    /// ID as given.
    ///
    /// Returns an error if [`Composition::add`] refuses the ID.
    pub fn entry(&mut self, id: &str, size: u64) -> Result<&mut Self, WriteError> {
        self.entries.push((self.composition.add(id)?, size));
        Ok(self)
    }

    #[cfg(feature = "object")]
    pub(crate) fn entries(&self) -> impl Iterator<Item = (&str, u64)> {
        self.entries.iter().map(|(id, size)| (id.as_str(), *size))
    }

    /// Returns the bundle's layout. Payloads are numbered like the entries, from 0;
    /// [`BundleBuilder::hip`]'s host entry is 0.
    pub fn layout(&self) -> Layout {
        let table: u64 =
            self.entries.iter().map(|(id, _)| ENTRY_FIXED_SIZE + id.len() as u64).sum();
        let mut offset = FIRST_ENTRY_OFFSET + table;
        let mut header = Vec::with_capacity(offset as usize);
        header.extend_from_slice(MAGIC);
        header.extend_from_slice(&(self.entries.len() as u64).to_le_bytes());
        for (id, size) in &self.entries {
            offset = offset.next_multiple_of(self.align);
            for field in [offset, *size, id.len() as u64] {
                header.extend_from_slice(&field.to_le_bytes());
            }
            header.extend_from_slice(id.as_bytes());
            offset += size;
        }
        let mut layout = Layout::new();
        layout.push(Piece::Bytes(header));
        for (index, (_, size)) in self.entries.iter().enumerate() {
            layout.pad_to(self.align);
            layout.push(Piece::Payload { index, size: *size });
        }
        layout
    }
}

impl Default for BundleBuilder {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_not_stand_together_is_refused_in_either_order() {
        for (a, b) in [("gfx906", "gfx906:xnack+"), ("gfx906:sramecc+:xnack+", "gfx906:xnack+")] {
            for (first, second) in [(a, b), (b, a)] {
                let mut builder = BundleBuilder::new();
                builder.entry(&alloc::format!("hip-amdgcn-amd-amdhsa--{first}"), 1).unwrap();
                let error = builder
                    .entry(&alloc::format!("hip-amdgcn-amd-amdhsa-{second}"), 2)
                    .unwrap_err();
                assert!(matches!(error, WriteError::Conflict(..)), "{error}");
            }
        }
    }

    #[test]
    fn an_alignment_of_0_is_one_of_1() {
        let layout = |align| {
            let mut builder = BundleBuilder::new();
            builder.align(align).entry("hip-amdgcn-amd-amdhsa--gfx906", 1).unwrap();
            builder.layout().to_vec(&[b"x"])
        };
        assert_eq!(layout(0), layout(1));
    }

    #[test]
    fn two_spellings_of_one_id_are_duplicates() {
        let mut builder = BundleBuilder::new();
        builder.entry("hip-amdgcn-amd-amdhsa-gfx906", 1).unwrap();
        let error = builder.entry("hip-amdgcn-amd-amdhsa--gfx906", 2).unwrap_err();
        assert_eq!(error, WriteError::Duplicate("hip-amdgcn-amd-amdhsa--gfx906".into()));
        builder.entry("hip-amdgcn-amd-amdhsa--gfx908:xnack+:sramecc+", 1).unwrap();
        let error = builder.entry("hip-amdgcn-amd-amdhsa--gfx908:sramecc+:xnack+", 2).unwrap_err();
        assert!(matches!(error, WriteError::Duplicate(_)), "{error}");
    }
}

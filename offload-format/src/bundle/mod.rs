//! The offload bundle: code objects for several targets in one file, each with a bundle entry ID.
//!
//! The binary form, with all integers little-endian (LLVM's ClangOffloadBundler page; bytes checked
//! against LLVM 22.1.8):
//!
//! | offset | size | field |
//! |---|---|---|
//! | 0 | 24 | [`MAGIC`] |
//! | 24 | 8 | number of entries, N |
//! | 32 | | N times: `u64` offset of the code object from the start of the bundle, `u64` its size, `u64` length of the bundle entry ID, the ID (no NUL, no padding) |
//! | | | the code objects, each at its offset |
//!
//! A bundle entry ID is `<offload kind>-<target triple>[-<target id>]`, such as
//! `hipv4-amdgcn-amd-amdhsa--gfx90a:xnack-`.

mod compatibility;
#[cfg(feature = "packs")]
mod composition;
mod entry_id;
mod read;
mod table;
#[cfg(feature = "packs")]
mod write;

pub use compatibility::Compatibility;
#[cfg(feature = "packs")]
pub use composition::Composition;
pub use entry_id::EntryId;
pub use read::{Bundle, Entry};
pub use table::{EntryTable, TableEntry};
#[cfg(feature = "packs")]
pub use write::{BundleBuilder, WriteError};

use crate::section::{self, DeviceSection};

/// The first bytes of a binary bundle.
pub const MAGIC: &[u8; 24] = section::BUNDLE_MAGIC;

/// The ID of the empty host entry that clang adds to every HIP bundle, whatever the host.
pub const HIP_HOST_ENTRY_ID: &str = "host-x86_64-unknown-linux-gnu-";

/// The prefix of a HIP bundle's entry IDs, before the target ID. HIP's runtime compares these bytes
/// with the start of each entry's ID.
pub const HIP_ENTRY_PREFIX: &str = "hipv4-amdgcn-amd-amdhsa--";

/// The alignment in bytes of code objects in a HIP bundle, and of the bundle itself.
pub const HIP_ALIGN: u64 = DeviceSection::HipFatbin.align();

/// How many bytes from the start of a bundle HIP's runtime passes to its bundle reader. The entry
/// table must fit into these.
pub const HIP_TABLE_LIMIT: u64 = 4096;

const ENTRY_COUNT_OFFSET: u64 = 24;
const FIRST_ENTRY_OFFSET: u64 = 32;
/// The size of an entry's fields before the ID: the offset, the size and the ID length.
const ENTRY_FIXED_SIZE: u64 = 24;

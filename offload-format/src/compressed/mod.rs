//! The compressed bundle: a header with the magic `CCOB`, then a bundle as a zlib stream or zstd
//! frame. Written by hipcc and `clang --offload-compress`.
//!
//! All integers are little-endian (LLVM's ClangOffloadBundler page). Versions 2 and 3 are checked
//! against LLVM 22.1.8. Version 1, which LLVM 19 and later do not write, is checked against
//! handmade files:
//!
//! | field | size | offset in version 1 | 2 | 3 |
//! |---|---|---|---|---|
//! | [`MAGIC`] | 4 | 0 | 0 | 0 |
//! | version | 2 | 4 | 4 | 4 |
//! | method: zlib 0, zstd 1 | 2 | 6 | 6 | 6 |
//! | total size in bytes, including this header | 4; 8 in version 3 | | 8 | 8 |
//! | size of the decompressed bundle in bytes | 4; 8 in version 3 | 8 | 12 | 16 |
//! | hash: the first 8 bytes of the bundle's MD5 digest | 8 | 12 | 16 | 24 |
//! | the compressed bundle | | 20 | 24 | 32 |
//!
//! LLVM 18 wrote version 1, and LLVM 19 to 21 wrote version 2. LLVM 22 writes version 3 unless
//! version 2 is requested. Version 1 does not store the total size, so the bundle ends where its
//! stream ends.
//!
//! Linked programs contain several bundles, compressed and plain, each at a multiple of 4096;
//! [`Found::in_a_row`] reads them.
//!
//! ```
//! # #[cfg(feature = "zstd")] {
//! use offload_format::bundle::EntryTable;
//! use offload_format::compressed::CompressedBundle;
//!
//! let file = include_bytes!("../../corpus/v3_zstd.ccob");
//! let bundle = CompressedBundle::parse(file).unwrap();
//! // The limit for allocations. Long-distance matching needs a window of at most 128 MiB.
//! let limit = 1 << 28;
//! let table = bundle.entry_table(limit).unwrap();
//! let entry = EntryTable::parse(&table).unwrap().entries().find(|entry| entry.id_str.ends_with("gfx908")).unwrap();
//! assert_eq!(bundle.code_object(&entry, limit).unwrap().len(), 3000);
//! # }
//! ```

mod code_objects;
mod found;
mod read;
#[cfg(any(feature = "zlib", feature = "zstd"))]
mod write;

pub(crate) use code_objects::CodeObjects;
pub use found::Found;
pub use read::CompressedBundle;
#[cfg(any(feature = "zlib", feature = "zstd"))]
pub use write::{CompressOptions, Version, compress, hash, header};

/// The first bytes of a compressed bundle.
pub const MAGIC: [u8; 4] = *crate::section::COMPRESSED_BUNDLE_MAGIC;

/// The offsets of one version's header fields.
struct Header {
    /// The offset of the total size, which version 1 does not store.
    total_size: Option<u64>,
    uncompressed_size: u64,
    hash: u64,
    /// The size of the header in bytes.
    size: u64,
    /// Whether the header stores sizes in 64 bits instead of 32.
    wide: bool,
}

impl Header {
    const fn of(version: u16) -> Option<Self> {
        let wide = version == 3;
        let width = if wide { 8 } else { 4 };
        let (total_size, uncompressed_size) = match version {
            1 => (None, 8),
            2 | 3 => (Some(8), 8 + width),
            _ => return None,
        };
        let hash = uncompressed_size + width;
        Some(Self { total_size, uncompressed_size, hash, size: hash + 8, wide })
    }
}

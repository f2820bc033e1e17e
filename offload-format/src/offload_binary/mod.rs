//! The offload binary: device images, each with a map of strings. LLVM's linker wrapper and
//! `llvm-objdump --offloading` search for it in sections of the type [`SHT_LLVM_OFFLOADING`].
//!
//! All integers are little-endian; all offsets count in bytes from the start of the binary.
//!
//! | offset | size | header | | offset | size | entry |
//! |---|---|---|---|---|---|---|
//! | 0 | 4 | [`MAGIC`] | | 0 | 2 | [`StatedKind`] |
//! | 4 | 4 | [`Version`] | | 2 | 2 | [`OffloadKind`] |
//! | 8 | 8 | total size in bytes | | 4 | 4 | flags |
//! | 16 | 8 | offset of the entries | | 8 | 8 | offset of the string pairs |
//! | 24 | 8 | number of entries; in version 1, the size of the only entry | | 16 | 8 | number of string pairs |
//! | 32 | 8 | from version 3 on: inflated size, 0 if nothing is compressed | | 24 | 8 | offset of the image |
//! | | | | | 32 | 8 | size of the image in bytes |
//!
//! A string pair consists of the key's offset and the value's offset, both `u64`. From version 2
//! on, the length of the value in bytes follows, so a value may contain NULs. Keys, and the values
//! of version 1, end at their first NUL.
//!
//! Several binaries may follow one another, each at a multiple of 8 bytes
//! ([`OffloadBinary::in_a_row`]). In version 1, this is the only way to store several images. Later
//! versions have an entry for each image, a common string table, and images back to back.
//!
//! If the inflated size is not 0, one zlib stream or zstd frame extends from the entries' offset to
//! the end of the binary. The decompressed binary has the same header, but with the inflated size
//! as its size, followed by the decompressed stream ([`Compressed`]).
//!
//! Source: LLVM's ClangOffloadPackager page. Version 1 was checked against LLVM 22.1.8, which
//! supports only this version. Versions 2 and 3 follow LLVM's main branch, and were checked against
//! handmade files (docs/formats.md).
//!
//! ```
//! use offload_format::offload_binary::{StatedKind, OffloadBinary, OffloadBinaryBuilder, OffloadKind, Version};
//!
//! let cubin = b"\x7fELF...";
//! let mut builder = OffloadBinaryBuilder::new();
//! let image = builder.image(StatedKind::CUBIN, OffloadKind::CUDA, cubin.len() as u64);
//! image.string("triple", "nvptx64-nvidia-cuda").string("arch", "sm_90");
//! let file = builder.layout(Version::V1).to_vec(&[cubin]);
//!
//! for found in OffloadBinary::in_a_row(&file) {
//!     let (_offset, binary) = found.unwrap();
//!     let image = binary.images().find(|image| image.arch() == Some("sm_90")).unwrap();
//!     assert_eq!(image.data, cubin);
//! }
//! ```

mod compressed;
mod image;
#[cfg(feature = "packs")]
mod key_order;
mod kind;
mod read;
mod version;
#[cfg(feature = "packs")]
mod write;

pub use compressed::Compressed;
pub use image::Image;
pub use kind::{OffloadKind, StatedKind};
pub use read::OffloadBinary;
pub use version::Version;
#[cfg(feature = "packs")]
pub use write::{ImageBuilder, OffloadBinaryBuilder};

use crate::section::{self, DeviceSection};

/// The first bytes of an offload binary.
pub const MAGIC: [u8; 4] = *section::OFFLOAD_BINARY_MAGIC;

/// The type of ELF sections that contain offload binaries.
pub const SHT_LLVM_OFFLOADING: u32 = 0x6fff_4c0b;

/// The alignment in bytes of an offload binary and of its first image. The size of an uncompressed
/// binary is a multiple of this alignment.
pub const ALIGN: u64 = DeviceSection::LlvmOffloading.align();

const SIZE_OFFSET: u64 = 8;
const ENTRIES_OFFSET: u64 = 16;
const ENTRY_COUNT_OFFSET: u64 = 24;
const INFLATED_SIZE_OFFSET: u64 = 32;
const ENTRY_SIZE: u64 = 40;

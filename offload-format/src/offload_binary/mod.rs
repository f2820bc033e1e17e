//! The offload binary: one device image and what is known of it, as a map of strings. LLVM's linker wrapper and
//! `llvm-objdump --offloading` look for it in sections of the type [`SHT_LLVM_OFFLOADING`].
//!
//! Version 1, all integers little-endian (LLVM's ClangOffloadPackager page; bytes checked against LLVM 22.1.8):
//!
//! | offset | size | header | | offset | size | entry |
//! |---|---|---|---|---|---|---|
//! | 0 | 4 | [`MAGIC`] | | 0 | 2 | [`ImageKind`] |
//! | 4 | 4 | version, 1 | | 2 | 2 | [`OffloadKind`] |
//! | 8 | 8 | size of the whole in bytes | | 4 | 4 | flags |
//! | 16 | 8 | offset of the entry | | 8 | 8 | offset of the string pairs |
//! | 24 | 8 | size of the entry | | 16 | 8 | number of string pairs |
//! | | | | | 24 | 8 | offset of the image |
//! | | | | | 32 | 8 | size of the image in bytes |
//!
//! A string pair is two `u64`: offsets of the key and of the value, each NUL-terminated. All offsets are bytes from the
//! start of the binary. Several images are several binaries, one after another without gaps, each a multiple of 8 bytes.

mod key_order;
mod kind;
mod read;
mod string_table;
mod write;

pub use kind::{ImageKind, OffloadKind};
pub use read::{OffloadBinaries, OffloadBinary, Strings};
pub use write::OffloadBinaryBuilder;

/// What an offload binary starts with.
pub const MAGIC: [u8; 4] = [0x10, 0xff, 0x10, 0xad];

/// Type of the ELF sections that hold offload binaries.
pub const SHT_LLVM_OFFLOADING: u32 = 0x6fff_4c0b;

/// Alignment in bytes of an offload binary, of its image, and of its size.
pub const ALIGN: u64 = 8;

const VERSION: u32 = 1;
const HEADER_SIZE: u64 = 32;
const ENTRY_SIZE: u64 = 40;
const STRING_PAIR_SIZE: u64 = 16;

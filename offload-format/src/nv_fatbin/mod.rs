//! NVIDIA's fatbin: images for several GPUs, in a file or in the section `.nv_fatbin` of a program.
//! The section's name is `__nv_relfatbin` in objects whose device code is linked later, and
//! `__NV_CUDA,__nv_fatbin` in Mach-O.
//!
//! NVIDIA does not publish the format. This description comes from experiments: we changed inputs
//! and single bytes and observed fatbinary, cuobjdump and nvJitLink 13.5, and nvFatbin 12.4, 12.6,
//! 12.8, 12.9, 13.0 and 13.5 (docs/formats.md, "NVIDIA's fatbins"). All integers are little-endian.
//!
//! | offset | size | header | | offset | size | entry |
//! |---|---|---|---|---|---|---|
//! | 0 | 4 | [`MAGIC`] | | 0 | 2 | [`FatbinImageKind`] |
//! | 4 | 2 | version, 1 | | 2 | 2 | 0x0101 |
//! | 6 | 2 | size of the header, 16 | | 4 | 4 | size of the entry's header with its strings, H |
//! | 8 | 8 | size of all entries in bytes | | 8 | 8 | size of the payload in bytes, a multiple of 8, P |
//! | | | | | 16 | 4 | size of the payload without padding if it is compressed, or 0 |
//! | | | | | 20 | 4 | offset of the options, or 0 |
//! | | | | | 24 | 2 | version of the code, minor: PTX ISA; for cubins, their ABI version, 8 or 7 |
//! | | | | | 26 | 2 | version of the code, major: PTX ISA; for cubins, 1 |
//! | | | | | 28 | 4 | compute capability times ten: 90 for `sm_90a` |
//! | | | | | 32 | 4 | offset of the name, or 0 |
//! | | | | | 36 | 4 | length of the name in bytes |
//! | | | | | 40 | 8 | flags, see below |
//! | | | | | 48 | 8 | 0, or a key if the payload is scrambled |
//! | | | | | 56 | 8 | size of the decompressed payload, or 0 |
//! | | | | | H | P | payload |
//!
//! Offsets in an entry count from the entry's start. The next entry is at H + P. The next container
//! follows the last entry, possibly after zeros. Each name is NUL-terminated and zero-padded to a
//! multiple of 8 bytes. The options are the `u32` offset and the `u32` length of a string, which is
//! stored like a name and contains options for ptxas (PTX) or for the optimizer (LTO-IR). For a
//! cubin, the string consists of a zero byte and the bytes of the section `.nv.compat`; the length
//! does not include the zero byte. nvJitLink uses the section's bytes to decide which other GPUs of
//! the family the cubin fits.
//!
//! | flag | |
//! |---|---|
//! | 0x1 | for a 64-bit host |
//! | 0x2 | has debug information |
//! | 0x8 | OpenCL |
//! | 0x10, 0x20, 0x40 | the host is Linux, macOS, Windows |
//! | 0x1000, 0x2000, 0x4000, 0x8000 | compressed: [`Compression`] |
//! | 0x10000 | scrambled (compressed LTO-IR) |
//! | 0x100000, 0x200000 | `a`, `f` after the compute capability |
//! | 0x1000000 | bit 1 is set in `e_flags` of the cubin, and its OS/ABI is 65: ptxas 12.9 and 13.5 from `sm_100` on |
//!
//! Uncompressed payloads are zero-padded: cubins to a multiple of 8 bytes, PTX with at least one
//! zero byte.
//!
//! Images can be compressed together (`fatbinary --concat`), in an entry of kind
//! [`FatbinImageKind::GROUP`]. The entry's options are a table: the number of images (`u32`), the
//! size of the table (`u32`), and for each image a header as above with strings. In these headers,
//! the field at offset 4 is the image's offset in the decompressed payload, and the field at offset
//! 8 is the image's size. A header ends at the end of its strings.

#[cfg(feature = "containers")]
mod compat;
mod join;
mod kind;
#[cfg(feature = "containers")]
mod lz4;
#[cfg(feature = "containers")]
mod payload;
mod read;
mod rename;
#[cfg(feature = "containers")]
mod write;

pub use join::join;
pub use kind::{Compression, FatbinImageKind, HostOs};
#[cfg(feature = "containers")]
pub use payload::Payload;
pub use read::{Entry, Image, NvFatbin};
pub use rename::rename;
#[cfg(feature = "containers")]
pub use write::NvFatbinBuilder;

/// The first bytes of a fatbin.
pub const MAGIC: [u8; 4] = crate::image::FATBIN_MAGIC;

/// The alignment in bytes of entries, payloads and containers.
pub const ALIGN: u64 = 8;

const VERSION: u16 = 1;
const HEADER_SIZE: u64 = 16;
const ENTRY_HEADER_SIZE: u64 = 64;
/// The size in bytes of the offset and length of the options string. A group's entry stores the
/// number of images and the size of their table instead.
const OPTIONS_SIZE: u64 = 8;

const FLAG_64_BIT: u64 = 0x1;
const FLAG_DEBUG: u64 = 0x2;
const FLAG_SCRAMBLED: u64 = 0x1_0000;
const FLAG_ARCH_SPECIFIC: u64 = 0x10_0000;
const FLAG_FAMILY_SPECIFIC: u64 = 0x20_0000;
#[cfg(feature = "containers")]
const FLAG_COMPAT: u64 = 0x100_0000;

//! ROCm's kernel packs: code objects in separate files, next to the programs and libraries that
//! load them.
//!
//! A split library is a program or library whose code objects were moved to kernel packs. It has a
//! wrapper with the magic `HIPK` instead of `HIPF`, a section with a [`KpackReference`], and zeros
//! where its bundles were. A `.kpack` file contains the code objects of one processor, and a `.kpm`
//! manifest may list several `.kpack` files.
//!
//! A `.kpack` file contains the following; all integers are little-endian:
//!
//! | offset | size | field |
//! |---|---|---|
//! | 0 | 4 | [`MAGIC`] |
//! | 4 | 4 | version, 1 |
//! | 8 | 8 | offset of the table, which extends to the end of the file |
//! | 64 | | the code objects |
//!
//! The table is a map in MessagePack:
//!
//! | key | value |
//! |---|---|
//! | `format_version`, `group_name`, `gfx_arch_family` | 1, two texts |
//! | `gfx_arches` | target IDs |
//! | `compression_scheme` | `none` or `zstd-per-kernel` |
//! | `blobs` | for `none`: an array of maps with `offset` (from the start of the file) and `size` |
//! | `zstd_offset`, `zstd_size` | for `zstd-per-kernel`: offset and size of the streams: their number in 4 bytes, then each stream, preceded by its size in 4 bytes |
//! | `toc` | binary (`lib/libfoo.so#0`) to target ID to a map with `type` (`hsaco`), `ordinal`, `original_size` |
//!
//! Source: ROCm's sources `rocm-kpack` (e3483286, February 2026) and `rocm-systems/shared/kpack`
//! (80fa6b72 and later, 2026), and files written by its packer.

#[cfg(feature = "containers")]
mod manifest;
#[cfg(feature = "containers")]
mod read;
#[cfg(feature = "containers")]
mod reference;

#[cfg(feature = "containers")]
pub use manifest::{KpackManifest, ManifestFile};
#[cfg(feature = "containers")]
pub use read::{Kpack, KpackKernel, is_binary_of};
#[cfg(feature = "containers")]
pub use reference::{GFX_ARCH, KpackReference};

/// The first bytes of a `.kpack` file.
pub const MAGIC: [u8; 4] = *b"KPAK";

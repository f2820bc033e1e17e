//! Archives (`ar`): static libraries for linkers. The members may contain bundles.
//!
//! All kinds start with the eight bytes `!<arch>\n`, or `!<thin>\n` if the members are separate
//! files. The members follow, each at an even offset. Each member starts with a header of ASCII
//! fields, padded with spaces (checked against LLVM 22.1.8 and GNU ar 2.40):
//!
//! | offset | size | field |
//! |---|---|---|
//! | 0 | 16 | name |
//! | 16 | 12 | modification time, seconds since 1970, decimal |
//! | 28 | 6 | owner, decimal |
//! | 34 | 6 | group, decimal |
//! | 40 | 8 | mode, octal |
//! | 48 | 10 | size of the data, decimal |
//! | 58 | 2 | `` `\n `` |
//!
//! The kinds differ in how they store long names, and in the symbol table:
//!
//! | kind | names | symbol table |
//! |---|---|---|
//! | GNU | `name/`; `/123`: at 123 in the member `//`, up to `/\n` | member `/`: big-endian `u32` count, that many member header offsets, the NUL-terminated names |
//! | GNU, 64-bit | the same | member `/SYM64/`: the same with `u64` |
//! | BSD | `name`; `#1/20`: in the first 20 bytes of the data | member `__.SYMDEF` or `__.SYMDEF SORTED`: `u32` size of the pairs, pairs of `u32` (name offset, member header offset), `u32` size of the names, the names |
//! | Darwin, 64-bit | the same | member `__.SYMDEF_64` or `__.SYMDEF_64 SORTED`: the same with `u64` |
//! | COFF | `name/`; `/123`: at 123 in the member `//`, up to a NUL | second of two members `/`: `u32` count of members, that many `u32` offsets, `u32` count of symbols, that many `u16` numbers of members from 1, the names |

#[cfg(feature = "packs")]
mod darwin;
#[cfg(feature = "containers")]
mod read;
#[cfg(feature = "packs")]
mod write;

#[cfg(feature = "packs")]
pub use darwin::write_darwin_library;
#[cfg(feature = "containers")]
pub use read::{Archive, Member};
#[cfg(feature = "packs")]
pub use write::{ArchiveBuilder, WriteError, write_library};

/// The first bytes of an archive.
pub const MAGIC: &[u8; 8] = b"!<arch>\n";

/// The first bytes of a thin archive.
pub(crate) const THIN_MAGIC: &[u8; 8] = b"!<thin>\n";

#[cfg(feature = "packs")]
const HEADER_SIZE: u64 = 60;
/// The largest size that fits into ten digits.
#[cfg(feature = "packs")]
const MAX_SIZE: u64 = 9_999_999_999;
/// The last bytes of every member header.
#[cfg(feature = "packs")]
const HEADER_END: &[u8; 2] = b"`\n";

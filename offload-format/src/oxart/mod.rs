//! Bundles of cuda-oxide: the device code of a Rust crate, in the section `.oxart` of objects,
//! libraries and programs. Linkers concatenate the bundles of all crates.
//!
//! A bundle contains the following. Integers are little-endian; offsets count from the bundle's
//! start:
//!
//! | offset | size | field |
//! |---|---|---|
//! | 0 | 8 | `OXIDEART` |
//! | 8 | 2 | version: 1, or 2 |
//! | 10 | 2 | size of the header, 32 |
//! | 12 | 4 | size of the bundle |
//! | 16 | 2, 2 | sizes of the name and of the target |
//! | 20 | 2, 2 | number of payloads, and of entries |
//! | 24 | 8 | options of the compiler, bits; 0 in version 1 |
//! | 32 | | the name of the crate, the target (`sm_90`), the payloads' records, the entries' records |
//!
//! A payload's record has 24 bytes:
//!
//! | offset | size | field |
//! |---|---|---|
//! | 0 | 2 | [`PayloadKind`] |
//! | 2 | 2 | 0 |
//! | 4 | 4, 4 | offset and size of the payload |
//! | 12 | 4 | offset of its name |
//! | 16 | 2 | size of its name |
//!
//! An entry's record has 24 bytes:
//!
//! | offset | size | field |
//! |---|---|---|
//! | 0 | 2 | [`EntryKind`] |
//! | 2 | 2 | flags; bit 0: the entry has metadata |
//! | 4 | 8 | metadata, whose meaning depends on the kind |
//! | 12 | 4 | offset of the symbol |
//! | 16 | 2 | size of the symbol |
//!
//! Source: cuda-oxide's `oxide-artifacts` 0.2.1 (a105afd5, August 2026), its README and its writer.

#[cfg(feature = "containers")]
mod kind;
#[cfg(feature = "containers")]
mod read;

#[cfg(feature = "containers")]
pub use kind::{EntryKind, PayloadKind};
#[cfg(feature = "containers")]
pub use read::{Oxart, OxartEntry, OxartPayload};

/// The first bytes of a bundle.
pub(crate) const MAGIC: [u8; 8] = *b"OXIDEART";

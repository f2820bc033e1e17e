//! The table of the SYCL device images that DPC++ links into a program.
//!
//! (Sources: intel/llvm's clang-offload-wrapper, which writes the table, and clang-offload-extract,
//! which reads it. Checked on the packages dpnp 0.20.0 and dpctl 0.22.1, for Linux and Windows, and
//! on onemkl-sycl-rng and onemkl-sycl-stats 2026.2.0.)
//!
//! The section `.tgtimg` has a record for each image:
//!
//! | offset | size | field |
//! |---|---|---|
//! | 0 | 8 | address of the image |
//! | 8 | 8 | size of the image, after decompression if it is compressed |
//!
//! The images of one target are stored in sequence in a section such as
//! `__CLANG_OFFLOAD_BUNDLE__sycl-spir64`, each aligned to 16 bytes. The last part of the section's
//! name is the target, but linkers for Windows cut the name off after `__CLANG_`. An image may be a
//! zstd frame (`--offload-compress`).

mod read;

pub(crate) use read::is_table;
pub use read::{ImageTable, TableImage};

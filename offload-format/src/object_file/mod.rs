//! The sections of object files and linked programs: ELF of either size and byte order, COFF, PE,
//! and Mach-O of either size. The slices of universal Mach-O files are also covered.
//!
//! The `object` crate reads the structures; this module gives all formats one type, without an
//! allocation.

mod sections;
mod slices;

pub(crate) use sections::{Section, Sections};
pub(crate) use slices::Slices;

use core::ptr;

/// Returns the file offset of a structure that the `object` crate has found.
fn offset_of<Structure>(file: &[u8], found: &Structure) -> u64 {
    ptr::from_ref(found).addr().wrapping_sub(file.as_ptr().addr()) as u64
}

//! The sections of object files, and of the programs that are linked from them: ELF of either size
//! and byte order, COFF, PE, Mach-O of either size, and the slices of universal Mach-O files.
//!
//! The `object` crate reads the structures; this module gives all formats one type, without an
//! allocation.

mod sections;
mod slices;

pub(crate) use sections::{Section, Sections};
pub(crate) use slices::Slices;

use core::ptr;

/// Returns the offset in a file of a structure that the `object` crate has found there.
fn offset_of<Structure>(file: &[u8], found: &Structure) -> u64 {
    ptr::from_ref(found).addr().wrapping_sub(file.as_ptr().addr()) as u64
}

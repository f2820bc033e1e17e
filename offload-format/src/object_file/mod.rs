//! Reads the sections of object files and linked programs: ELF (32-bit and 64-bit, in either byte
//! order), COFF, PE, and Mach-O (32-bit and 64-bit). Also reads the slices of universal Mach-O
//! files, and the targets of pointers.
//!
//! The crate `object` parses the structures. This module provides one type for all formats and
//! allocates nothing.

mod pointers;
mod sections;
mod slices;

pub(crate) use pointers::{Pointing, RecordLayout, pointers};
pub(crate) use sections::{Section, Sections};
pub(crate) use slices::Slices;

use core::ptr;

/// Returns the file offset of a structure found by the crate `object`.
pub(crate) fn offset_of<Structure: ?Sized>(file: &[u8], found: &Structure) -> u64 {
    ptr::from_ref(found).cast::<u8>().addr().wrapping_sub(file.as_ptr().addr()) as u64
}

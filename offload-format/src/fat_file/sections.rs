//! The sizes of an object's sections.

use crate::Result;
use crate::object_file::Sections;

/// A section of an executable, shared object or object, or of a code object or cubin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct SectionExtent<'data> {
    /// The segment's name in Mach-O files; empty in other files.
    pub segment: &'data [u8],
    /// The section's name. PE images cut it off after 8 bytes, or store a number instead.
    pub name: &'data [u8],
    /// The offset in bytes from the start of the object.
    pub offset: u64,
    /// The size in the file, in bytes: 0 for a section that exists only in memory.
    pub size: u64,
}

/// Returns the sections of an ELF, COFF, PE or Mach-O file, in the order of its section table.
/// Sections may overlap. Sections outside the file are omitted, and the list ends where the table
/// cannot be read.
///
/// Returns an error if `object` is any other kind of file, or if its section table is outside the
/// file.
///
/// ```
/// use offload_format::fat_file::sections;
///
/// let object = include_bytes!("../../corpus/hip_nordc.o");
/// let mut device = sections(object).unwrap().filter(|section| section.name == b".hip_fatbin");
/// assert_eq!(device.next().unwrap().size, 7672);
/// ```
pub fn sections(object: &[u8]) -> Result<impl Iterator<Item = SectionExtent<'_>> + Clone> {
    Ok(Sections::parse(object)?.map_while(Result::ok).filter_map(|section| {
        let size = section.data.ok()?.len() as u64;
        Some(SectionExtent {
            segment: section.segment,
            name: section.name,
            offset: section.offset,
            size,
        })
    }))
}

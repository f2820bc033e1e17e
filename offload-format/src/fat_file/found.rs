//! Containers found in a file, and their places.

use super::ContainerKind;

/// The position of a container or of a malformed part in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Place<'data> {
    /// The processor of the slice in a universal file, as Mach-O's `cputype`.
    pub slice: Option<u32>,
    /// The name of the archive member that contains the part; in nested archives, the innermost
    /// member.
    pub member: Option<&'data [u8]>,
    /// The name of the section's segment in a Mach-O file.
    pub segment: Option<&'data [u8]>,
    /// The name of the section; `None` for an object bundle and for an image table.
    pub section: Option<&'data [u8]>,
    /// The offset in bytes from the start of the file.
    pub offset: u64,
}

/// A container or a reference that was found in a file.
#[derive(Debug, Clone, Copy)]
pub enum Content<'data> {
    /// A container, from its first byte on. After a bundle (plain or compressed), an offload
    /// binary, a fatbin or a bundle of cuda-oxide, further containers may follow, directly or after
    /// padding. For an object bundle and an image table, the bytes are the whole object or program.
    Container(ContainerKind, &'data [u8]),
    /// A library's section that refers to the kernel packs with its code objects.
    KpackReference(&'data [u8]),
    /// A member of a thin archive: the path of its file, relative to the archive's folder.
    Elsewhere(&'data [u8]),
}

pub(crate) fn within(mut place: Place<'_>, at: u64) -> Place<'_> {
    place.offset = place.offset.saturating_add(at);
    place
}

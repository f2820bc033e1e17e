//! The view of the bundle in an object.

use super::{HOST_PLACEHOLDER, SECTION_PREFIX, SIZE_SECTION_PREFIX};
use crate::bundle::Entry;
use crate::object_file::{Section, Sections};
use crate::reader::Reader;
use crate::spirv;
use crate::{Error, ErrorKind, Result};
use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;
use object::FileKind;

/// The size in bytes of each number in a size section.
const SIZE: usize = 8;

/// The bundle in a host object, whose section table has been checked.
#[derive(Clone, Copy)]
pub struct ObjectBundle<'data> {
    data: &'data [u8],
}

impl<'data> ObjectBundle<'data> {
    /// Checks the section table of the object file `data` (32-bit or 64-bit ELF in either byte
    /// order, or COFF), and borrows from `data`. An object without a bundle has no entries. Mach-O
    /// and PE files have no entries either, because their section names are too short.
    ///
    /// Returns an error if `data` is none of these files, or if a bundle entry ID is not UTF-8.
    /// Also returns an error if the section table, a section's name or a bundle entry is outside
    /// the file.
    pub fn parse(data: &'data [u8]) -> Result<Self> {
        for section in sections(data)? {
            entry(&section?)?;
        }
        Ok(Self { data })
    }

    /// Returns the entries, in section order. Several entries may have the same ID.
    pub fn entries(&self) -> impl Iterator<Item = Entry<'data>> + Clone + use<'data> {
        // This cannot fail: `ObjectBundle::parse` has read every entry.
        let sections = sections(self.data).into_iter().flatten();
        sections.filter_map(|section| entry(&section.ok()?).ok()?)
    }

    /// Returns the images, in section order. If a linker joined the entries of several objects, an
    /// entry contains several images. Size sections ([`SIZE_SECTION_PREFIX`]) store the images'
    /// sizes; without them, only SPIR-V images can be separated.
    pub(crate) fn images(&self) -> Vec<Entry<'data>> {
        let sections = sections(self.data).into_iter().flatten().map_while(Result::ok);
        let sizes: BTreeMap<&[u8], &[u8]> = sections
            .filter_map(|section| {
                let id = section.name.strip_prefix(SIZE_SECTION_PREFIX.as_bytes())?;
                Some((id, section.data.ok()?))
            })
            .collect();
        let mut images = Vec::new();
        for entry in self.entries() {
            let whole = entry.code_object;
            let sizes = sizes.get(entry.id_str.as_bytes()).and_then(|sizes| told(sizes, whole));
            let sizes = sizes.or_else(|| spirv::in_a_row(whole));
            // Sections may share bytes, so limit the number of images.
            let sizes = sizes.filter(|sizes| images.len() + sizes.len() <= self.data.len() / SIZE);
            let mut at = 0;
            for size in sizes.unwrap_or(vec![whole.len()]) {
                let (offset, code_object) = (entry.offset + at as u64, &whole[at..at + size]);
                images.push(Entry { offset, code_object, ..entry });
                at += size;
            }
        }
        images
    }
}

/// Returns the bundle entry in a section, if the section is one.
fn entry<'data>(section: &Section<'data>) -> Result<Option<Entry<'data>>> {
    let offset = section.offset;
    let Some(id) = section.name.strip_prefix(SECTION_PREFIX.as_bytes()) else { return Ok(None) };
    let code_object =
        section.data.map_err(|error| Error::new(error.kind(), "bundle entry's section", 0))?;
    let id = str::from_utf8(id)
        .map_err(|_| Error::new(ErrorKind::Malformed, "bundle entry ID", offset))?;
    Ok(Some(Entry { id_str: id, offset, code_object }))
}

impl fmt::Debug for ObjectBundle<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.entries()).finish()
    }
}

/// Returns the sizes in a size section, if there are several and they add up to the entry's size.
fn told(sizes: &[u8], entry: &[u8]) -> Option<Vec<usize>> {
    let sizes = sizes
        .chunks_exact(SIZE)
        .map(|size| usize::try_from(Reader::new(size).u64(0, "size").ok()?).ok());
    let sizes: Vec<usize> = sizes.collect::<Option<_>>()?;
    let sum = sizes.iter().try_fold(0_usize, |sum, &size| sum.checked_add(size))?;
    (sizes.len() > 1 && sum == entry.len()).then_some(sizes)
}

impl Entry<'_> {
    /// Whether this is the host entry of an object bundle, which LLVM writes as one zero byte. The
    /// entry represents the object without its bundle, which `strip` returns.
    pub fn is_host_placeholder(&self) -> bool {
        self.code_object == HOST_PLACEHOLDER && self.id().is_ok_and(|id| id.is_host())
    }
}

/// Returns an object's sections; none for PE and Mach-O files, whose section names are too short
/// for bundle entries.
pub(super) fn sections(data: &[u8]) -> Result<impl Iterator<Item = Result<Section<'_>>> + Clone> {
    let sections = match FileKind::parse(data) {
        Ok(FileKind::Elf32 | FileKind::Elf64 | FileKind::Coff | FileKind::CoffBig) => {
            Some(Sections::parse(data)?)
        }
        Ok(FileKind::Pe32 | FileKind::Pe64 | FileKind::MachO32 | FileKind::MachO64) => None,
        _ => return Err(Error::new(ErrorKind::BadMagic, "ELF or COFF object file", 0)),
    };
    Ok(sections.into_iter().flatten())
}

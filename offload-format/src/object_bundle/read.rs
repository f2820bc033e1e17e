//! The view of the bundle in an object.

use super::{HOST_PLACEHOLDER, SECTION_PREFIX, SIZE_SECTION_PREFIX};
use crate::bundle::Entry;
use crate::reader::Reader;
use crate::spirv;
use crate::string_table::NAMES_PER_FILE;
use crate::{Error, ErrorKind, Result};
use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;
use object::FileKind;
use object::elf::{FileHeader32, FileHeader64};
use object::endian::Endianness;
use object::pe::{AnonObjectHeaderBigobj, ImageFileHeader};
use object::read::coff::{self, CoffHeader};
use object::read::elf::{self, FileHeader, SectionHeader};
use object::read::{SectionIndex, StringTable};

/// The size in bytes of each number in a size section.
const SIZE: usize = 8;

/// The bundle in a host object, whose section table has been checked.
#[derive(Clone, Copy)]
pub struct ObjectBundle<'data> {
    data: &'data [u8],
    pub(super) sections: Sections<'data>,
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
        let bundle = Self { data, sections: Sections::parse(data)? };
        let limit = data.len().saturating_mul(NAMES_PER_FILE);
        let mut names = 0usize;
        for index in 1..=bundle.sections.count() {
            let name = bundle.sections.name(index)?;
            names = names.saturating_add(name.len());
            if names > limit {
                return Err(Error::new(
                    ErrorKind::Malformed,
                    "section name table (names share too much text)",
                    0,
                ));
            }
            bundle.entry(index)?;
        }
        Ok(bundle)
    }

    /// Returns the entries, in section order. Several entries may have the same ID.
    pub fn entries(&self) -> impl Iterator<Item = Entry<'data>> + Clone + use<'data> {
        let bundle = *self;
        // This cannot fail: `ObjectBundle::parse` has read every entry.
        (1..=bundle.sections.count()).filter_map(move |index| bundle.entry(index).ok().flatten())
    }

    /// Returns the images, in section order. If a linker joined the entries of several objects, an
    /// entry contains several images. Size sections ([`SIZE_SECTION_PREFIX`]) store the images'
    /// sizes; without them, only SPIR-V images can be separated.
    pub(crate) fn images(&self) -> Vec<Entry<'data>> {
        let sizes: BTreeMap<&[u8], &[u8]> = (1..=self.sections.count())
            .filter_map(|index| {
                let id = self.sections.name(index).ok()?;
                let id = id.strip_prefix(SIZE_SECTION_PREFIX.as_bytes())?;
                let (offset, size) = self.sections.range(index)?;
                Some((id, Reader::new(self.data).range(offset, size, 0, "sizes").ok()?))
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

    fn entry(&self, index: usize) -> Result<Option<Entry<'data>>> {
        let name = self.sections.name(index)?;
        let Some(id) = name.strip_prefix(SECTION_PREFIX.as_bytes()) else { return Ok(None) };
        let (offset, size) = self.sections.range(index).unwrap_or((0, 0));
        let code_object =
            Reader::new(self.data).range(offset, size, 0, "bundle entry's section")?;
        let id = str::from_utf8(id)
            .map_err(|_| Error::new(ErrorKind::Malformed, "bundle entry ID", offset))?;
        Ok(Some(Entry { id_str: id, offset, code_object }))
    }
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

/// The section table and the section names. Sections are numbered from 1; in ELF, number 0 is not a
/// section.
#[derive(Clone, Copy)]
pub(super) enum Sections<'data> {
    Elf32(elf::SectionTable<'data, FileHeader32<Endianness>>, Endianness),
    Elf64(elf::SectionTable<'data, FileHeader64<Endianness>>, Endianness),
    Coff(coff::SectionTable<'data>, StringTable<'data>),
    /// A format whose names are too short for bundle entries.
    None,
}

impl<'data> Sections<'data> {
    pub(super) fn parse(data: &'data [u8]) -> Result<Self> {
        let no_object = Error::new(ErrorKind::BadMagic, "ELF or COFF object file", 0);
        Ok(match FileKind::parse(data).map_err(|_| no_object)? {
            FileKind::Elf32 => {
                let (sections, endian) = elf_sections(data)?;
                Sections::Elf32(sections, endian)
            }
            FileKind::Elf64 => {
                let (sections, endian) = elf_sections(data)?;
                Sections::Elf64(sections, endian)
            }
            FileKind::Coff => coff_sections::<ImageFileHeader>(data)?,
            FileKind::CoffBig => coff_sections::<AnonObjectHeaderBigobj>(data)?,
            FileKind::Pe32 | FileKind::Pe64 | FileKind::MachO32 | FileKind::MachO64 => {
                Sections::None
            }
            _ => return Err(no_object),
        })
    }

    /// Returns the number of sections, which is also the last section's number.
    pub(super) fn count(&self) -> usize {
        match self {
            Sections::Elf32(sections, _) => sections.len().saturating_sub(1),
            Sections::Elf64(sections, _) => sections.len().saturating_sub(1),
            Sections::Coff(sections, _) => sections.len(),
            Sections::None => 0,
        }
    }

    pub(super) fn name(&self, index: usize) -> Result<&'data [u8]> {
        let index = SectionIndex(index);
        match self {
            Sections::Elf32(sections, endian) => {
                sections.section(index).and_then(|section| sections.section_name(*endian, section))
            }
            Sections::Elf64(sections, endian) => {
                sections.section(index).and_then(|section| sections.section_name(*endian, section))
            }
            Sections::Coff(sections, strings) => {
                sections.section(index).and_then(|section| section.name(*strings))
            }
            Sections::None => Ok(&b""[..]),
        }
        .map_err(|_| Error::new(ErrorKind::Malformed, "section name", 0))
    }

    /// Returns the offset and the size of section `index` in the file, in bytes; `None` if the
    /// section has no bytes in the file.
    fn range(&self, index: usize) -> Option<(u64, u64)> {
        let index = SectionIndex(index);
        match self {
            Sections::Elf32(sections, endian) => sections.section(index).ok()?.file_range(*endian),
            Sections::Elf64(sections, endian) => sections.section(index).ok()?.file_range(*endian),
            Sections::Coff(sections, _) => {
                let (offset, size) = sections.section(index).ok()?.coff_file_range()?;
                Some((offset.into(), size.into()))
            }
            Sections::None => None,
        }
    }
}

fn elf_sections<Header: FileHeader<Endian = Endianness>>(
    data: &[u8],
) -> Result<(elf::SectionTable<'_, Header>, Endianness)> {
    let malformed = |what| move |_| Error::new(ErrorKind::Malformed, what, 0);
    let header = Header::parse(data).map_err(malformed("ELF header"))?;
    let endian = header.endian().map_err(malformed("ELF header"))?;
    Ok((header.sections(endian, data).map_err(malformed("section header table"))?, endian))
}

fn coff_sections<Header: CoffHeader>(data: &[u8]) -> Result<Sections<'_>> {
    let malformed = |what| move |_| Error::new(ErrorKind::Malformed, what, 0);
    let mut offset = 0;
    let header = Header::parse(data, &mut offset).map_err(malformed("COFF header"))?;
    let sections = header.sections(data, offset).map_err(malformed("section table"))?;
    let strings = header.symbols(data).map_err(malformed("symbol table"))?.strings();
    Ok(Sections::Coff(sections, strings))
}

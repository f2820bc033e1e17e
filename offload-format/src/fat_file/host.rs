//! Host files, with the `object` feature: the slices of universal Mach-O files, and the sections of
//! objects and programs.

use super::find::Walk;
use super::{ContainerKind, Content, Place, within};
use crate::Result;
use crate::image_table::{ImageTable, is_table};
use crate::object_bundle;
use crate::object_file::{Section, Sections, Slices};
use crate::offload_binary;
use crate::section::{DeviceSection, ObjectFormat, SectionNames};
use alloc::collections::BTreeSet;
use object::FileKind as Object;

/// Whether `data` is an object or program.
pub(super) fn is_host_file(data: &[u8]) -> bool {
    matches!(
        object::FileKind::parse(data),
        Ok(Object::Elf32
            | Object::Elf64
            | Object::Coff
            | Object::CoffBig
            | Object::Pe32
            | Object::Pe64
            | Object::MachO32
            | Object::MachO64)
    )
}

impl<'data> Walk<'_, 'data> {
    /// Searches the slices of a universal Mach-O file.
    pub(super) fn universal(
        &mut self,
        data: &'data [u8],
        place: Place<'data>,
        depth: u32,
    ) -> Result<()> {
        for slice in Slices::parse(data)? {
            let in_slice = Place { slice: Some(slice.processor), ..place };
            match slice.data {
                Ok(inside) => self.file(inside, within(in_slice, slice.offset), depth),
                Err(error) => (self.visit)(in_slice, Err(error.shifted(place.offset))),
            }
        }
        Ok(())
    }

    /// Searches the sections of an object or program.
    pub(super) fn host_file(&mut self, data: &'data [u8], place: Place<'data>) -> Result<()> {
        let sections = Sections::parse(data)?;
        let format = sections.format();
        let mut has_bundle_entry = false;
        // Whether the code objects are in kernel packs. Determined lazily and at most once, because
        // reading the sections' names takes time.
        let mut is_split = None;
        // The offsets of the images in the image table, also determined at most once.
        let (mut has_table, mut listed) = (false, None);
        for section in sections {
            let section = section?;
            has_table |= is_table(&section, format);
            let segment = Some(section.segment).filter(|name| !name.is_empty());
            let in_section = Place { segment, section: Some(section.name), ..place };
            let contents = match section.data {
                Ok(contents) => contents,
                Err(error) => {
                    (self.visit)(in_section, Err(error.shifted(place.offset)));
                    continue;
                }
            };
            self.budget.spend(contents.len() as u64)?;
            if section.name.starts_with(object_bundle::SECTION_PREFIX.as_bytes()) {
                has_bundle_entry = true;
            } else if let Some(container) = container(&section, contents, format) {
                let range = section.offset..section.offset + contents.len() as u64;
                if listed.get_or_insert_with(|| listed_in(data)).range(range).next().is_some() {
                    continue;
                }
                // ROCm's tools may have moved the section's bundles into kernel packs. They remove
                // only whole pages, so the section may still contain leftover bytes that no longer
                // form a bundle.
                if matches!(container, Content::Container(ContainerKind::Bundle, _))
                    && ContainerKind::of(contents).is_none()
                    && *is_split.get_or_insert_with(|| has_reference(data))
                {
                    continue;
                }
                (self.visit)(within(in_section, section.offset), Ok(container));
            }
        }
        let in_sections = [
            (has_table, ContainerKind::ImageTable),
            (has_bundle_entry, ContainerKind::ObjectBundle),
        ];
        for (_, kind) in in_sections.into_iter().filter(|(is_there, _)| *is_there) {
            (self.visit)(place, Ok(Content::Container(kind, data)));
        }
        Ok(())
    }
}

/// Returns the offsets of the images in a file's image table.
fn listed_in(data: &[u8]) -> BTreeSet<u64> {
    let images = ImageTable::find(data).map(|table| table.images()).unwrap_or_default();
    images.iter().flatten().map(|image| image.offset).collect()
}

/// Whether a program or library refers to kernel packs that contain its code objects.
fn has_reference(data: &[u8]) -> bool {
    let Ok(sections) = Sections::parse(data) else { return false };
    let format = sections.format();
    sections.map_while(Result::ok).any(|section| is_reference(&section, format))
}

fn is_reference(section: &Section<'_>, format: ObjectFormat) -> bool {
    let [segment, name] =
        [section.segment, section.name].map(|text| str::from_utf8(text).unwrap_or(""));
    [SectionNames::KPACK_REFERENCE, SectionNames::KPACK_REFERENCE_COFF]
        .iter()
        .any(|names| names.matches(format, segment, name))
}

fn container<'data>(
    section: &Section<'data>,
    data: &'data [u8],
    format: ObjectFormat,
) -> Option<Content<'data>> {
    if data.is_empty() {
        return None;
    }
    let name = str::from_utf8(section.name).unwrap_or("");
    let segment = str::from_utf8(section.segment).unwrap_or("");
    let is = |names: SectionNames| names.matches(format, segment, name);
    // The first bytes of a section take precedence over its name, because PE images cut long names
    // short. No tool puts a kernel pack into a section.
    if let Some(kind) = ContainerKind::of(data).filter(|kind| *kind != ContainerKind::Kpack) {
        return Some(Content::Container(kind, data));
    }
    // Without a magic at the start, the section's type and name decide, because a linker may have
    // inserted zeros before the container. A section whose name was cut short may contain no
    // container at all.
    let kind = if section.elf_type == Some(offload_binary::SHT_LLVM_OFFLOADING) {
        ContainerKind::OffloadBinary
    } else if is_reference(section, format) {
        return Some(Content::KpackReference(data));
    } else if is(DeviceSection::HipFatbin.names()) {
        ContainerKind::Bundle
    } else if name == DeviceSection::LlvmOffloading.elf_name() {
        ContainerKind::OffloadBinary
    } else if is(SectionNames::NV_FATBIN) || is(SectionNames::NV_RELFATBIN) {
        ContainerKind::Fatbin
    } else if name == SectionNames::OXART.name {
        ContainerKind::Oxart
    } else {
        return None;
    };
    Some(Content::Container(kind, data))
}

//! The walk through a file.

use super::FileKind;
use crate::archive::Archive;
use crate::host_object::{DeviceSection, ObjectFormat, SectionNames};
use crate::object_bundle::{self, ObjectBundle};
use crate::object_file::{Section, Sections, Slices};
use crate::text_bundle::TextBundle;
use crate::{Error, ErrorKind, Result, offload_binary};

/// Archives may hold archives; deeper than this nobody has put anything.
const DEPTH: u32 = 8;

/// Sections, slices and members may share bytes. All that is found may have this many times the file's size together.
const SHARED_LIMIT: u64 = 64;

/// Where in the file something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Place<'data> {
    /// The processor of the slice of a universal file, Mach-O's `cputype`.
    pub slice: Option<u32>,
    /// The name of the archive's member, the innermost one.
    pub member: Option<&'data [u8]>,
    /// The name of the section's segment in a Mach-O file.
    pub segment: Option<&'data [u8]>,
    /// The name of the section; for an object bundle, none.
    pub section: Option<&'data [u8]>,
    /// Offset in bytes from the start of the file.
    pub offset: u64,
}

/// What was found. A match names all of them: a reader that forgets one does not compile.
#[derive(Debug, Clone, Copy)]
pub enum Container<'data> {
    /// Bundles and compressed bundles in a row, for [`Bundles`](crate::compressed::Bundles).
    Bundles(&'data [u8]),
    /// Offload binaries in a row, for [`OffloadBinaries`](crate::offload_binary::OffloadBinaries).
    OffloadBinaries(&'data [u8]),
    /// NVIDIA's containers in a row, for [`NvFatbins`](crate::nv_fatbin::NvFatbins).
    NvFatbins(&'data [u8]),
    /// A host object with bundle entries in sections.
    ObjectBundle(ObjectBundle<'data>),
    /// A text bundle.
    TextBundle(TextBundle<'data>),
    /// A code object, cubin, PTX, SPIR-V or bitcode by itself.
    Image(&'data [u8]),
    /// A member of a thin archive: the path of its file, from the archive's folder.
    Elsewhere(&'data [u8]),
}

/// Looks for device code in a file, and calls `visit` with each place and what is there, in file order.
///
/// Where something is malformed, `visit` gets an error, whose offset counts from the start of the file, and the search goes
/// on with the next section, slice or member; a section table that cannot be read is the end of its object. A file that
/// cannot have device code in it has no places.
pub fn find<'data>(file: &'data [u8], mut visit: impl FnMut(Place<'data>, Result<Container<'data>>)) {
    let left = (file.len() as u64).saturating_mul(SHARED_LIMIT);
    let mut walk = Walk { visit: &mut visit, left };
    walk.file(file, Place { slice: None, member: None, segment: None, section: None, offset: 0 }, DEPTH);
}

struct Walk<'walk, 'data> {
    visit: &'walk mut dyn FnMut(Place<'data>, Result<Container<'data>>),
    /// Bytes that may still be looked at.
    left: u64,
}

impl<'data> Walk<'_, 'data> {
    fn file(&mut self, data: &'data [u8], place: Place<'data>, depth: u32) {
        let outcome = self.try_file(data, place, depth);
        if let Err(error) = outcome {
            (self.visit)(place, Err(error.shifted(place.offset)));
        }
    }

    fn try_file(&mut self, data: &'data [u8], place: Place<'data>, depth: u32) -> Result<()> {
        self.spend(data)?;
        let Some(kind) = FileKind::identify(data) else { return Ok(()) };
        let Some(deeper) = depth.checked_sub(1) else {
            return Err(Error::new(ErrorKind::Malformed, "archive (in an archive in an archive …)", 0));
        };
        let container = match kind {
            FileKind::Bundle | FileKind::CompressedBundle => Container::Bundles(data),
            FileKind::OffloadBinary => Container::OffloadBinaries(data),
            FileKind::NvFatbin => Container::NvFatbins(data),
            FileKind::Image => Container::Image(data),
            FileKind::TextBundle => match TextBundle::detect(data) {
                Some(leader) => Container::TextBundle(TextBundle::parse(data, leader)?),
                None => return Ok(()),
            },
            FileKind::Archive => {
                for member in Archive::parse(data)?.members() {
                    let place = Place { member: Some(member.name()), ..place };
                    match member.data() {
                        Some(inside) => {
                            let offset = place.offset.saturating_add(member.data_offset());
                            self.file(inside, Place { offset, ..place }, deeper);
                        }
                        None => (self.visit)(place, Ok(Container::Elsewhere(member.name()))),
                    }
                }
                return Ok(());
            }
            FileKind::Universal => {
                for slice in Slices::parse(data)? {
                    let in_slice = Place { slice: Some(slice.processor), ..place };
                    match slice.data {
                        Ok(inside) => {
                            let offset = place.offset.saturating_add(slice.offset);
                            self.file(inside, Place { offset, ..in_slice }, deeper);
                        }
                        Err(error) => (self.visit)(in_slice, Err(error.shifted(place.offset))),
                    }
                }
                return Ok(());
            }
            FileKind::Host => return self.host(data, place),
        };
        (self.visit)(place, Ok(container));
        Ok(())
    }

    fn host(&mut self, data: &'data [u8], place: Place<'data>) -> Result<()> {
        let sections = Sections::parse(data)?;
        let format = sections.format();
        let mut has_bundle_entry = false;
        for section in sections {
            let section = section?;
            let segment = Some(section.segment).filter(|name| !name.is_empty());
            let in_section = Place { segment, section: Some(section.name), ..place };
            let contents = match section.data {
                Ok(contents) => contents,
                Err(error) => {
                    (self.visit)(in_section, Err(error.shifted(place.offset)));
                    continue;
                }
            };
            self.spend(contents)?;
            if section.name.starts_with(object_bundle::SECTION_PREFIX.as_bytes()) {
                has_bundle_entry = true;
            } else if let Some(container) = container(&section, contents, format) {
                let offset = place.offset.saturating_add(section.offset);
                (self.visit)(Place { offset, ..in_section }, Ok(container));
            }
        }
        if has_bundle_entry {
            (self.visit)(place, Ok(Container::ObjectBundle(ObjectBundle::parse(data)?)));
        }
        Ok(())
    }

    fn spend(&mut self, data: &[u8]) -> Result<()> {
        let error = Error::new(ErrorKind::Malformed, "file (its parts share too many bytes)", 0);
        self.left = self.left.checked_sub(data.len() as u64).ok_or(error)?;
        Ok(())
    }
}

/// What is in a section.
fn container<'data>(section: &Section<'data>, data: &'data [u8], format: ObjectFormat) -> Option<Container<'data>> {
    if data.is_empty() {
        return None;
    }
    let name = str::from_utf8(section.name).unwrap_or("");
    let segment = str::from_utf8(section.segment).unwrap_or("");
    let is = |names: SectionNames| names.matches(format, segment, name);
    // What the section starts with counts before its name, which images for Windows cut short.
    match FileKind::of_container(data) {
        Some(FileKind::Bundle | FileKind::CompressedBundle) => Some(Container::Bundles(data)),
        Some(FileKind::OffloadBinary) => Some(Container::OffloadBinaries(data)),
        Some(FileKind::NvFatbin) => Some(Container::NvFatbins(data)),
        _ if section.elf_type == Some(offload_binary::SHT_LLVM_OFFLOADING) => Some(Container::OffloadBinaries(data)),
        // A linker may have put zeros first; of a name that was cut short, not even that is sure.
        _ if is(DeviceSection::HipFatbin.names()) => Some(Container::Bundles(data)),
        _ if name == DeviceSection::LlvmOffloading.elf_name() => Some(Container::OffloadBinaries(data)),
        _ if is(SectionNames::NV_FATBIN) || is(SectionNames::NV_RELFATBIN) => Some(Container::NvFatbins(data)),
        _ => None,
    }
}

//! The structures through which a program hands its device code to the runtime: `.hipFatBinSegment`, `.nvFatBinSegment`.
//!
//! | offset | size | field |
//! |---|---|---|
//! | 0 | 4 | magic |
//! | 4 | 4 | version, 1 |
//! | 8 | 8 | address of the image |
//! | 16 | 8 | unused |
//!
//! In an object the address is a relocation; in a program that can be loaded anywhere it is one too, of another kind.

use super::find::SHARED_LIMIT;
use crate::host_object::SectionNames;
use crate::reader::Reader;
use object::read::{File, Object, ObjectSection, ObjectSymbol, Relocation, RelocationTarget, Section};
use object::{BinaryFormat, Endianness};

const SIZE: u64 = 24;
const POINTER: u64 = 8;

/// A wrapper in a program or object.
#[derive(Debug, Clone, Copy)]
pub struct Wrapper<'data> {
    kind: WrapperKind,
    version: u32,
    offset: u64,
    image: Option<&'data [u8]>,
}

/// Whose runtime a wrapper is for, by its magic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WrapperKind {
    /// `HIPF`: HIP's, with bundles.
    Hip,
    /// `HIPK`: HIP's, with device code that lies in a file of its own.
    HipKpack,
    /// NVIDIA's, with a fatbin.
    Cuda,
}

impl WrapperKind {
    fn of_magic(magic: u32) -> Option<Self> {
        match magic {
            0x4849_5046 => Some(WrapperKind::Hip),
            0x4b50_4948 => Some(WrapperKind::HipKpack),
            0x4662_43b1 => Some(WrapperKind::Cuda),
            _ => None,
        }
    }
}

impl<'data> Wrapper<'data> {
    /// Whose runtime it is for.
    pub fn kind(&self) -> WrapperKind {
        self.kind
    }

    /// Version of the structure; all known ones have 1.
    pub fn version(&self) -> u32 {
        self.version
    }

    /// Offset in bytes from the start of the wrappers' section.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// The bytes from the image's start to the end of its section; `None` if the image is not in this file, as in objects
    /// that are linked with another one that has it.
    pub fn image(&self) -> Option<&'data [u8]> {
        self.image
    }
}

/// Calls `visit` for each wrapper of a 64-bit little-endian ELF, COFF, PE or Mach-O file. A file that is none of these, or
/// whose tables are damaged, has no wrappers. One whose sections share very many bytes is not searched to its end.
pub fn wrappers<'data>(file: &'data [u8], mut visit: impl FnMut(Wrapper<'data>)) {
    search(file, &mut visit);
}

/// Returns `None` where the search ends early.
fn search<'data>(data: &'data [u8], visit: &mut dyn FnMut(Wrapper<'data>)) -> Option<()> {
    let file = File::parse(data).ok()?;
    if !file.is_64() || file.endianness() != Endianness::Little {
        return None;
    }
    let mut left = (data.len() as u64).saturating_mul(SHARED_LIMIT);
    let mut spend = |steps: u64| {
        left = left.checked_sub(steps)?;
        Some(())
    };
    let section_count = file.sections().count() as u64;
    for section in file.sections() {
        spend(section.name_bytes().map_or(0, <[u8]>::len) as u64)?;
        if !is_of_wrappers(&file, &section) {
            continue;
        }
        let Ok(data) = section.data() else { continue };
        spend(data.len() as u64)?;
        let reader = Reader::new(data);
        // The wrapper at `offset`, and the address that stands in it.
        let wrapper = |offset: u64| {
            let kind = WrapperKind::of_magic(reader.u32(offset, "wrapper").ok()?)?;
            let version = reader.u32(offset + 4, "wrapper").ok()?;
            let address = reader.u64(offset + POINTER, "wrapper").ok()?;
            Some((Wrapper { kind, version, offset, image: None }, address))
        };
        // Linked programs have the address in place, or a relocation that does not count from there.
        let is_relocatable = section.relocations().next().is_some();
        if !is_relocatable {
            for (found, address) in (0..data.len() as u64 / SIZE).filter_map(|index| wrapper(index * SIZE)) {
                if address != 0 {
                    // All sections are asked whether the address is theirs.
                    spend(section_count)?;
                    visit(Wrapper { image: bytes_at(&file, address), ..found });
                }
            }
        }
        // Relocations of other sections come out at offsets that this one does not have.
        let start = section.address();
        let dynamic = file.dynamic_relocations().filter(|_| !is_relocatable).into_iter().flatten();
        let dynamic = dynamic.map(|(address, relocation)| (address.wrapping_sub(start), relocation));
        let relocations = section.relocations().chain(dynamic);
        for (at, relocation) in relocations {
            spend(1)?;
            let Some(offset) = at.checked_sub(POINTER).filter(|offset| offset % SIZE == 0) else { continue };
            if let Some((found, address)) = wrapper(offset)
                && (address == 0 || is_relocatable)
            {
                spend(section_count)?;
                visit(Wrapper { image: target(&file, &relocation, address), ..found });
            }
        }
    }
    Some(())
}

fn is_of_wrappers(file: &File<'_>, section: &Section<'_, '_>) -> bool {
    let format = match file.format() {
        BinaryFormat::Elf => crate::host_object::ObjectFormat::Elf,
        BinaryFormat::Coff | BinaryFormat::Pe => crate::host_object::ObjectFormat::Coff,
        BinaryFormat::MachO => crate::host_object::ObjectFormat::MachO,
        _ => return false,
    };
    let segment = section.segment_name().ok().flatten().unwrap_or("");
    let name = section.name().unwrap_or("");
    [SectionNames::HIP_FATBIN_SEGMENT, SectionNames::NV_FATBIN_SEGMENT]
        .iter()
        .any(|names| names.matches(format, segment, name))
}

/// From an address to the end of the section that it lies in.
fn bytes_at<'data>(file: &File<'data>, address: u64) -> Option<&'data [u8]> {
    let holds = |section: &Section<'data, '_>| {
        address.checked_sub(section.address()).is_some_and(|offset| offset < section.size())
    };
    let section = file.sections().filter(|section| section.address() != 0).find(holds)?;
    from(&section, address - section.address())
}

fn from<'data>(section: &Section<'data, '_>, offset: u64) -> Option<&'data [u8]> {
    let data = section.data().ok()?;
    Reader::new(data).range(offset, (data.len() as u64).checked_sub(offset)?, 0, "image").ok()
}

/// What a relocation points to; `in_place` is what stands where it applies.
fn target<'data>(file: &File<'data>, relocation: &Relocation, in_place: u64) -> Option<&'data [u8]> {
    let addend = match relocation.has_implicit_addend() {
        true => in_place.wrapping_add_signed(relocation.addend()),
        false => relocation.addend() as u64,
    };
    match relocation.target() {
        RelocationTarget::Symbol(index) => {
            let symbol = file.symbol_by_index(index).ok()?;
            let section = file.section_by_index(symbol.section_index()?).ok()?;
            let start = symbol.address().checked_sub(section.address())?;
            from(&section, start.wrapping_add(addend))
        }
        RelocationTarget::Section(index) => {
            let section = file.section_by_index(index).ok()?;
            // Mach-O has the address in place, others the offset.
            from(&section, addend.checked_sub(section.address()).unwrap_or(addend))
        }
        _ => bytes_at(file, addend),
    }
}

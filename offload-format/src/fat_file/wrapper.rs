//! The structures through which a program hands its device code to the runtime:
//! `.hipFatBinSegment`, `.nvFatBinSegment`.
//!
//! | offset | size | field |
//! |---|---|---|
//! | 0 | 4 | magic |
//! | 4 | 4 | version, 1 |
//! | 8 | 8 | address of the image |
//! | 16 | 8 | `HIPK`: the number of the wrapper, which names the entry of a kernel pack |
//!
//! In an object, a relocation of the address field refers to the image. In a program that can be
//! loaded at any address, a dynamic relocation of the field gives the address.

use crate::object_file::{self, Sections};
use crate::reader::Reader;
use crate::section::{HIP_WRAPPER_MAGIC, ObjectFormat, SectionNames};
use object::read::{
    File, Object, ObjectKind, ObjectSection, ObjectSymbol, ObjectSymbolTable, Relocation,
    RelocationTarget, Section,
};
use object::{AddressSize, BinaryFormat, Endianness};

const SIZE: u64 = 24;
const POINTER: u64 = 8;

/// The bits of a pointer in a Mach-O program that contain the address. In the bits above, linkers
/// chain the places that the loader has to change.
const MACHO_ADDRESS: u64 = (1 << 36) - 1;

/// A wrapper: the structure through which a program or object hands its device code to the runtime.
///
/// The format and its references are on the [module's page](super).
#[derive(Debug, Clone, Copy)]
pub struct Wrapper<'data> {
    kind: WrapperKind,
    version: u32,
    offset: u64,
    number: u32,
    image: Option<&'data [u8]>,
}

/// The runtime that a wrapper is for, according to its magic.
///
/// The format and its references are on the [module's page](super).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum WrapperKind {
    /// `HIPF`: for HIP's runtime, with bundles.
    Hip,
    /// `HIPK`: for HIP's runtime, with device code in a separate file.
    HipKpack,
    /// For NVIDIA's runtime, with a fatbin.
    Cuda,
    /// With another magic: no runtime registers it.
    Unknown,
}

impl WrapperKind {
    fn of_magic(magic: u32) -> Self {
        match magic {
            HIP_WRAPPER_MAGIC => WrapperKind::Hip,
            0x4b50_4948 => WrapperKind::HipKpack,
            0x4662_43b1 => WrapperKind::Cuda,
            _ => WrapperKind::Unknown,
        }
    }
}

impl<'data> Wrapper<'data> {
    /// Returns the runtime that the wrapper is for.
    pub fn kind(&self) -> WrapperKind {
        self.kind
    }

    /// Returns the version of the structure; all known ones have 1.
    pub fn version(&self) -> u32 {
        self.version
    }

    /// Returns the wrapper's offset in bytes from the start of the section of wrappers.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Returns the wrapper's number, which names the entry of a kernel pack. HIP's runtime reads
    /// the low half of the last field.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// Returns the bytes from the image's start to the end of its section. Returns `None` if the
    /// image is not in this file, as in objects whose image is in another object of the link.
    pub fn image(&self) -> Option<&'data [u8]> {
        self.image
    }
}

/// The maximum number of steps for each byte of the file. Sections, names and tables of relocations
/// may share bytes, so a small file could take long to read. Files from linkers need less than one
/// step for each byte.
const STEPS_PER_BYTE: u64 = 64;

/// Calls `visit` for each wrapper of a 64-bit little-endian ELF, COFF, PE or Mach-O file. A file
/// that is none of these, or whose tables are damaged, has no wrappers. If the search takes far
/// more steps than the file's size explains, it stops, and only the wrappers found before are
/// reported.
pub fn wrappers<'data>(file: &'data [u8], mut visit: impl FnMut(Wrapper<'data>)) {
    let left = STEPS_PER_BYTE.saturating_mul(file.len() as u64);
    let (Ok(named), Ok(file)) = (Sections::parse(file), File::parse(file)) else { return };
    // The architecture gives the address size, because COFF objects do not record it.
    let is_64 = file.architecture().address_size() == Some(AddressSize::U64);
    if !is_64 || file.endianness() != Endianness::Little {
        return;
    }
    let sections = file.sections().count() as u64;
    let mut walk = Walk { file: &file, sections, left, visit: &mut visit };
    let format = named.format();
    // Both iterators return all sections in the order of the table. `named` is this crate's own
    // reader, which limits the time to read names.
    for (section, name) in file.sections().zip(named.map_while(Result::ok)) {
        if is_of_wrappers(&name, format) && walk.section(&section).is_none() {
            return;
        }
    }
}

struct Walk<'walk, 'data> {
    file: &'walk File<'data>,
    /// The number of sections.
    sections: u64,
    /// The number of steps that the search may still take.
    left: u64,
    visit: &'walk mut dyn FnMut(Wrapper<'data>),
}

impl<'data> Walk<'_, 'data> {
    /// Subtracts `steps` from the steps that are left; returns `None` if there are too few.
    fn spend(&mut self, steps: u64) -> Option<()> {
        self.left = self.left.checked_sub(steps)?;
        Some(())
    }

    fn section(&mut self, section: &Section<'data, '_>) -> Option<()> {
        match self.file.kind() {
            ObjectKind::Relocatable => self.in_object(section),
            _ => self.in_program(section),
        }
    }

    /// Reports the wrappers in a section of an object. Each relocation in the section is the
    /// address in a wrapper.
    fn in_object(&mut self, section: &Section<'data, '_>) -> Option<()> {
        let data = section.data().unwrap_or_default();
        for (at, relocation) in section.relocations() {
            self.spend(1)?;
            if let Some((found, in_place)) =
                at.checked_sub(POINTER).and_then(|offset| wrapper_at(data, offset))
            {
                let image = self.target(&relocation, in_place);
                (self.visit)(Wrapper { image, ..found });
            }
        }
        Some(())
    }

    /// Reports the wrappers in a section of a program. The address is in the wrapper itself; if it
    /// is zero there, a dynamic relocation gives it. Relocation tables that linkers leave for other
    /// tools (`--emit-relocs`) are not read, since they contain nothing new.
    fn in_program(&mut self, section: &Section<'data, '_>) -> Option<()> {
        let data = section.data().unwrap_or_default();
        let mask = if self.file.format() == BinaryFormat::MachO { MACHO_ADDRESS } else { u64::MAX };
        for index in 0..data.len() as u64 / SIZE {
            self.spend(1)?;
            if let Some((found, address)) =
                wrapper_at(data, index * SIZE).filter(|(_, address)| *address != 0)
            {
                let image = self.bytes_at(address & mask)?;
                (self.visit)(Wrapper { image, ..found });
            }
        }
        // Reading the dynamic relocations starts with a search of every section, which costs a step
        // for each.
        self.spend(self.sections)?;
        for (address, relocation) in self.file.dynamic_relocations().into_iter().flatten() {
            self.spend(1)?;
            let offset =
                address.checked_sub(section.address()).and_then(|at| at.checked_sub(POINTER));
            if let Some((found, 0)) = offset.and_then(|offset| wrapper_at(data, offset)) {
                let image = self.dynamic_target(&relocation)?;
                (self.visit)(Wrapper { image, ..found });
            }
        }
        Some(())
    }

    /// Returns the bytes that an object's relocation refers to; `in_place` is the value that is
    /// stored where the relocation applies.
    fn target(&self, relocation: &Relocation, in_place: u64) -> Option<&'data [u8]> {
        let addend = if relocation.has_implicit_addend() {
            in_place.wrapping_add_signed(relocation.addend())
        } else {
            relocation.addend() as u64
        };
        match relocation.target() {
            RelocationTarget::Symbol(index) => {
                let symbol = self.file.symbol_by_index(index).ok()?;
                let section = self.file.section_by_index(symbol.section_index()?).ok()?;
                let start = symbol.address().checked_sub(section.address())?;
                from(&section, start.wrapping_add(addend))
            }
            RelocationTarget::Section(index) => {
                let section = self.file.section_by_index(index).ok()?;
                // In Mach-O files, the addend is an address; in other files, it is the offset in
                // the section.
                from(&section, addend.checked_sub(section.address()).unwrap_or(addend))
            }
            _ => None,
        }
    }

    /// Returns the bytes that a program's relocation refers to, in the same form as `bytes_at`.
    /// Without a symbol, the addend is the address.
    fn dynamic_target(&mut self, relocation: &Relocation) -> Option<Option<&'data [u8]>> {
        let symbol = match relocation.target() {
            RelocationTarget::Symbol(index) => {
                let table = self.file.dynamic_symbol_table();
                let symbol = table
                    .and_then(|table| table.symbol_by_index(index).ok())
                    .filter(|it| !it.is_undefined());
                let Some(symbol) = symbol else { return Some(None) };
                symbol.address()
            }
            _ => 0,
        };
        self.bytes_at(symbol.wrapping_add_signed(relocation.addend()))
    }

    /// Returns the bytes from an address to the end of its section. The outer `None` means that no
    /// steps are left, the inner one that no section has the address.
    fn bytes_at(&mut self, address: u64) -> Option<Option<&'data [u8]>> {
        self.spend(self.sections)?;
        // Sections that are not loaded have the address 0. A section of thread-local zeros has no
        // bytes in the file, but the same address as the section after it, so the search continues.
        let mut loaded = self.file.sections().filter(|section| section.address() != 0);
        Some(loaded.find_map(|section| from(&section, address.checked_sub(section.address())?)))
    }
}

/// Returns the wrapper at `offset`, and the address field in it; `None` if there is no wrapper.
fn wrapper_at<'data>(section: &'data [u8], offset: u64) -> Option<(Wrapper<'data>, u64)> {
    let reader = Reader::new(section);
    let kind = WrapperKind::of_magic(reader.u32(offset, "wrapper").ok()?);
    let version = reader.u32(offset.checked_add(4)?, "wrapper").ok()?;
    let address = reader.u64(offset.checked_add(POINTER)?, "wrapper").ok()?;
    let number = reader.u32(offset.checked_add(2 * POINTER)?, "wrapper").ok()?;
    let found = Wrapper { kind, version, offset, number, image: None };
    offset.is_multiple_of(SIZE).then_some((found, address))
}

fn is_of_wrappers(section: &object_file::Section<'_>, format: ObjectFormat) -> bool {
    let [segment, name] =
        [section.segment, section.name].map(|text| str::from_utf8(text).unwrap_or(""));
    [SectionNames::HIP_FATBIN_SEGMENT, SectionNames::NV_FATBIN_SEGMENT]
        .iter()
        .any(|names| names.matches(format, segment, name))
}

/// Returns the bytes of a section from an offset on; `None` if there are none.
fn from<'data>(section: &Section<'data, '_>, offset: u64) -> Option<&'data [u8]> {
    let data = section.data().ok()?;
    let size = (data.len() as u64).checked_sub(offset).filter(|&size| size > 0)?;
    Reader::new(data).range(offset, size, 0, "image").ok()
}

//! Consecutive records that each contain a pointer. In an object, a relocation of the pointer's
//! field contains the target; in a position-independent program, a dynamic relocation does.

use super::{Section, Sections};
use crate::reader::Reader;
use crate::section::ObjectFormat;
use object::read::{
    File, Object, ObjectKind, ObjectSection, ObjectSymbol, ObjectSymbolTable, Relocation,
    RelocationTarget,
};
use object::{AddressSize, BinaryFormat, Endianness, SectionIndex};

/// The address bits of a pointer in a Mach-O program. In the upper bits, linkers store the chain of
/// pointers that the loader has to adjust.
const MACHO_ADDRESS: u64 = (1 << 36) - 1;

/// The maximum number of steps per byte of the file. Sections, names and relocation tables may
/// share bytes, so without a limit, reading a small file could take a very long time. Files from
/// linkers need less than one step per byte.
const STEPS_PER_BYTE: u64 = 64;

/// The layout of the records.
#[derive(Clone, Copy)]
pub(crate) struct RecordLayout {
    /// The size of a record in bytes.
    pub(crate) size: u64,
    /// The offset of the pointer in a record, in bytes.
    pub(crate) pointer: u64,
}

/// A record with a nonzero pointer.
pub(crate) struct Pointing<'data> {
    /// The offset in bytes from the start of the records' section.
    pub(crate) offset: u64,
    /// The bytes of the record.
    pub(crate) record: Reader<'data>,
    /// The target; `None` if no section of the file has bytes there.
    pub(crate) target: Option<Pointee<'data>>,
}

/// The target of a pointer.
#[derive(Clone, Copy)]
pub(crate) struct Pointee<'data> {
    /// The bytes from the target to the end of its section.
    pub(crate) bytes: &'data [u8],
    /// The index of the section among [`Sections`], from 0.
    pub(crate) section: usize,
}

/// Calls `visit` for each record in the chosen sections of a 64-bit little-endian ELF, COFF, PE or
/// Mach-O file. Other files, and files with damaged tables, have no records. If the search takes
/// far more steps than the file's size justifies, it stops after the records found so far.
pub(crate) fn pointers<'data>(
    file: &'data [u8],
    layout: RecordLayout,
    is_chosen: impl Fn(&Section<'data>, ObjectFormat) -> bool,
    mut visit: impl FnMut(Pointing<'data>),
) {
    let left = STEPS_PER_BYTE.saturating_mul(file.len() as u64);
    let (Ok(named), Ok(file)) = (Sections::parse(file), File::parse(file)) else { return };
    // Use the architecture's address size, because COFF objects do not store one.
    let is_64 = file.architecture().address_size() == Some(AddressSize::U64);
    if !is_64 || file.endianness() != Endianness::Little {
        return;
    }
    let sections = file.sections().count() as u64;
    let mut walk = Walk { file: &file, layout, sections, left, visit: &mut visit };
    let format = named.format();
    // Both iterators return all sections in table order. `named` comes from this crate's reader,
    // which limits the time spent on names.
    for (section, name) in file.sections().zip(named.map_while(Result::ok)) {
        if is_chosen(&name, format) && walk.section(&section).is_none() {
            return;
        }
    }
}

struct Walk<'walk, 'data> {
    file: &'walk File<'data>,
    layout: RecordLayout,
    /// The number of sections.
    sections: u64,
    /// The remaining number of steps.
    left: u64,
    visit: &'walk mut dyn FnMut(Pointing<'data>),
}

impl<'data> Walk<'_, 'data> {
    /// Subtracts `steps` from the remaining steps; returns `None` if too few are left.
    fn spend(&mut self, steps: u64) -> Option<()> {
        self.left = self.left.checked_sub(steps)?;
        Some(())
    }

    fn section(&mut self, section: &object::read::Section<'data, '_>) -> Option<()> {
        match self.file.kind() {
            ObjectKind::Relocatable => self.in_object(section),
            _ => self.in_program(section),
        }
    }

    /// Reports the records in a section of an object. Each relocation of the section belongs to a
    /// record's pointer.
    fn in_object(&mut self, section: &object::read::Section<'data, '_>) -> Option<()> {
        let data = section.data().unwrap_or_default();
        for (at, relocation) in section.relocations() {
            self.spend(1)?;
            let offset = at.checked_sub(self.layout.pointer);
            if let Some((found, in_place)) = offset.and_then(|offset| self.record(data, offset)) {
                let target = self.target(&relocation, in_place);
                (self.visit)(Pointing { target, ..found });
            }
        }
        Some(())
    }

    /// Reports the records in a section of a program. The address is in the record or, if the
    /// record contains zero, in a dynamic relocation. Relocation tables for other tools
    /// (`--emit-relocs`) are not read, because they contain nothing new.
    fn in_program(&mut self, section: &object::read::Section<'data, '_>) -> Option<()> {
        let data = section.data().unwrap_or_default();
        let mask = if self.file.format() == BinaryFormat::MachO { MACHO_ADDRESS } else { u64::MAX };
        for index in 0..data.len() as u64 / self.layout.size {
            self.spend(1)?;
            if let Some((found, address)) =
                self.record(data, index * self.layout.size).filter(|(_, address)| *address != 0)
            {
                let target = self.bytes_at(address & mask)?;
                (self.visit)(Pointing { target, ..found });
            }
        }
        // Reading the dynamic relocations starts with a search through all sections, at one step
        // each.
        self.spend(self.sections)?;
        for (address, relocation) in self.file.dynamic_relocations().into_iter().flatten() {
            self.spend(1)?;
            let offset = address
                .checked_sub(section.address())
                .and_then(|at| at.checked_sub(self.layout.pointer));
            if let Some((found, 0)) = offset.and_then(|offset| self.record(data, offset)) {
                let target = self.dynamic_target(&relocation)?;
                (self.visit)(Pointing { target, ..found });
            }
        }
        Some(())
    }

    /// Returns the record at `offset` and the address stored in it; `None` if there is no record.
    fn record(&self, section: &'data [u8], offset: u64) -> Option<(Pointing<'data>, u64)> {
        let RecordLayout { size, pointer } = self.layout;
        let bytes = Reader::new(section).range(offset, size, 0, "record").ok()?;
        let record = Reader::new(bytes);
        let address = record.u64(pointer, "record").ok()?;
        let found = Pointing { offset, record, target: None };
        offset.is_multiple_of(size).then_some((found, address))
    }

    /// Returns the bytes that an object's relocation refers to. `in_place` is the value stored at
    /// the relocation's offset.
    fn target(&self, relocation: &Relocation, in_place: u64) -> Option<Pointee<'data>> {
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

    /// Returns the bytes that a program's relocation refers to, like `bytes_at`. Without a symbol,
    /// the addend is the address.
    fn dynamic_target(&mut self, relocation: &Relocation) -> Option<Option<Pointee<'data>>> {
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
    /// steps are left; the inner `None` means that no section contains the address.
    fn bytes_at(&mut self, address: u64) -> Option<Option<Pointee<'data>>> {
        self.spend(self.sections)?;
        // Sections that are not loaded have the address 0. A section of thread-local zeros has no
        // bytes in the file, but the same address as the section after it, so the search continues.
        let mut loaded = self.file.sections().filter(|section| section.address() != 0);
        Some(loaded.find_map(|section| from(&section, address.checked_sub(section.address())?)))
    }
}

/// Returns a section's bytes from `offset` on, if there are any.
fn from<'data>(section: &object::read::Section<'data, '_>, offset: u64) -> Option<Pointee<'data>> {
    let data = section.data().ok()?;
    let size = (data.len() as u64).checked_sub(offset).filter(|&size| size > 0)?;
    let bytes = Reader::new(data).range(offset, size, 0, "section").ok()?;
    let SectionIndex(index) = section.index();
    Some(Pointee { bytes, section: index.checked_sub(1)? })
}

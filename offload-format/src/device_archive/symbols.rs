//! Finds a member's symbols for an archive's symbol table.

use crate::image::Bitcode;
use crate::{Error, ErrorKind, Result};
use alloc::vec::Vec;
use object::elf::{
    FileHeader32, FileHeader64, SHN_UNDEF, SHT_SYMTAB, STB_LOCAL, STT_FILE, STT_SECTION,
};
use object::endian::{Endianness, LittleEndian};
use object::macho::{MachHeader32, MachHeader64};
use object::pe::{
    AnonObjectHeaderBigobj, IMAGE_SYM_CLASS_EXTERNAL, IMAGE_SYM_CLASS_WEAK_EXTERNAL,
    IMAGE_SYM_UNDEFINED, IMAGE_WEAK_EXTERN_SEARCH_ALIAS, ImageFileHeader,
};
use object::read::FileKind;
use object::read::coff::{CoffHeader, Symbol};
use object::read::elf::{FileHeader, Sym};
use object::read::macho::{MachHeader, Nlist};

/// Returns the symbols that LLVM 22 lists in an archive's symbol table for a member with these
/// bytes, in LLVM's order: the defined symbols that other objects can refer to. They come from the
/// symbol table of an ELF, COFF or Mach-O file (`.symtab`, never `.dynsym`) or of LLVM bitcode. If
/// such a file has no symbols, the list is empty. Returns `None` for any other file, which
/// [`ArchiveBuilder`](crate::archive::ArchiveBuilder) treats differently.
///
/// Also returns `None` for bitcode that is malformed or whose symbol table has an unknown version:
/// LLVM adds such a member with a warning.
///
/// Returns an error if an object file's symbol table is malformed, or if all names together exceed
/// 64 times the file's size.
pub fn member_symbols(data: &[u8]) -> Result<Option<Vec<&[u8]>>> {
    if Bitcode::is_bitcode(data) {
        return Ok(Bitcode::parse(data).ok().map(|bitcode| bitcode.defined_globals().collect()));
    }
    let mut names = Names { names: Vec::new(), budget: data.len().saturating_mul(MAX_SHARING) };
    match FileKind::parse(data) {
        Ok(FileKind::Elf32) => elf::<FileHeader32<Endianness>>(data, &mut names),
        Ok(FileKind::Elf64) => elf::<FileHeader64<Endianness>>(data, &mut names),
        Ok(FileKind::Coff) => coff::<ImageFileHeader>(data, &mut names),
        Ok(FileKind::CoffBig) => coff::<AnonObjectHeaderBigobj>(data, &mut names),
        Ok(FileKind::MachO32) => mach_o::<MachHeader32<Endianness>>(data, &mut names),
        Ok(FileKind::MachO64) => mach_o::<MachHeader64<Endianness>>(data, &mut names),
        _ => return Ok(None),
    }
    .ok_or_else(|| Error::new(ErrorKind::Malformed, "symbol table of an object file", 0))?;
    Ok(Some(names.names))
}

/// The limit for the total size of all names, as a multiple of the file's size. Names may share
/// bytes in the file, so their copies could need much more memory than the file.
const MAX_SHARING: usize = 64;

struct Names<'data> {
    names: Vec<&'data [u8]>,
    /// The number of bytes left for further names.
    budget: usize,
}

impl<'data> Names<'data> {
    fn push(&mut self, name: &'data [u8]) -> Option<()> {
        self.budget = self.budget.checked_sub(name.len())?;
        self.names.push(name);
        Some(())
    }
}

fn elf<'data, Elf: FileHeader<Endian = Endianness>>(
    data: &'data [u8],
    names: &mut Names<'data>,
) -> Option<()> {
    let header = Elf::parse(data).ok()?;
    let endian = header.endian().ok()?;
    let table = header.sections(endian, data).ok()?.symbols(endian, data, SHT_SYMTAB).ok()?;
    for symbol in table.iter() {
        let is_object = !matches!(symbol.st_type(), STT_FILE | STT_SECTION);
        if symbol.st_bind() != STB_LOCAL && is_object && symbol.st_shndx(endian) != SHN_UNDEF {
            names.push(table.symbol_name(endian, symbol).ok()?)?;
        }
    }
    Some(())
}

fn coff<'data, Coff: CoffHeader>(data: &'data [u8], names: &mut Names<'data>) -> Option<()> {
    let table = Coff::parse(data, &mut 0).ok()?.symbols(data).ok()?;
    for (index, symbol) in table.iter() {
        let defined = match symbol.storage_class() {
            // A symbol with a value but without a section is a common symbol; its value is its
            // size.
            IMAGE_SYM_CLASS_EXTERNAL => {
                symbol.section_number() != IMAGE_SYM_UNDEFINED || symbol.value() != 0
            }
            IMAGE_SYM_CLASS_WEAK_EXTERNAL if symbol.number_of_aux_symbols() == 0 => true,
            // Only aliases are definitions; other symbols of this class are weak references.
            IMAGE_SYM_CLASS_WEAK_EXTERNAL => {
                let record = table.aux_weak_external(index).ok()?;
                record.weak_search_type.get(LittleEndian) == IMAGE_WEAK_EXTERN_SEARCH_ALIAS
            }
            _ => false,
        };
        if defined {
            names.push(symbol.name(table.strings()).ok()?)?;
        }
    }
    Some(())
}

fn mach_o<'data, Mach: MachHeader<Endian = Endianness>>(
    data: &'data [u8],
    names: &mut Names<'data>,
) -> Option<()> {
    let header = Mach::parse(data, 0).ok()?;
    let endian = header.endian().ok()?;
    let mut commands = header.load_commands(endian, data, 0).ok()?;
    while let Some(command) = commands.next().ok()? {
        let Some(symtab) = command.symtab().ok()? else { continue };
        let table = symtab.symbols::<Mach, _>(endian, data).ok()?;
        for symbol in table.iter() {
            let kind = symbol.n_type();
            if !kind.is_stab() && kind.is_ext() && !symbol.is_undefined() {
                names.push(symbol.name(endian, table.strings()).ok()?)?;
            }
        }
        // A file has one symbol table.
        break;
    }
    Some(())
}

//! A 64-bit ELF object.
//!
//! | | |
//! |---|---|
//! | file header | 64 bytes |
//! | zeros up to the section's alignment | |
//! | the section | the payload |
//! | symbol table | the null symbol, and the symbol that covers the section |
//! | string table | the name of the covering symbol |
//! | section names | |
//! | section headers | null, the section, `.note.GNU-stack`, `.symtab`, `.strtab`, `.shstrtab` |

use super::fields::{Fields, StringTable};
use crate::layout::{Layout, Piece};
use crate::offload_binary::SHT_LLVM_OFFLOADING;
use crate::section::DeviceSection;

/// The host-dependent values of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Machine {
    /// `e_machine`.
    machine: u16,
    /// `e_flags`.
    flags: u32,
    /// The section's flags besides SHF_ALLOC.
    section_flags: u64,
}

/// Marks a section that may be more than 2 GiB away from the code. The linker places it after all
/// sections without this flag.
const SHF_X86_64_LARGE: u64 = 0x1000_0000;

impl Machine {
    pub(super) fn of(arch: &str) -> Option<Self> {
        let plain = |machine| Some(Self { machine, flags: 0, section_flags: 0 });
        match arch {
            "x86_64" => Some(Self { machine: 62, flags: 0, section_flags: SHF_X86_64_LARGE }),
            "aarch64" => plain(183),
            // The flags select the double-float ABI, as in Rust's hosted targets. The linker
            // refuses to mix ABIs.
            "riscv64" => Some(Self { machine: 243, flags: 0x5, section_flags: 0 }),
            "loongarch64" => Some(Self { machine: 258, flags: 0x43, section_flags: 0 }),
            _ => None,
        }
    }
}

const HEADER_SIZE: u64 = 64;
const SECTION_HEADER_SIZE: u64 = 64;
const SYMBOL_SIZE: u64 = 24;

const ET_REL: u16 = 1;
const SHF_ALLOC: u64 = 2;
const SHT_PROGBITS: u32 = 1;
const SHT_SYMTAB: u32 = 2;
const SHT_STRTAB: u32 = 3;
const STB_GLOBAL_STT_OBJECT: u8 = 1 << 4 | 1;
const STV_HIDDEN: u8 = 2;

fn section_type(section: DeviceSection) -> u32 {
    match section {
        DeviceSection::HipFatbin => SHT_PROGBITS,
        DeviceSection::LlvmOffloading => SHT_LLVM_OFFLOADING,
    }
}

/// Lays out the object for a payload of `size` bytes. All offsets must stay below 2^64.
pub(super) fn write(machine: Machine, section: DeviceSection, symbol: &str, size: u64) -> Layout {
    let mut section_names = StringTable::new(&[0]);
    let name_at = section_names.add(section.elf_name());
    let note_at = section_names.add(".note.GNU-stack");
    let symtab_at = section_names.add(".symtab");
    let strtab_at = section_names.add(".strtab");
    let shstrtab_at = section_names.add(".shstrtab");
    let mut symbol_names = StringTable::new(&[0]);
    let symbol_at = symbol_names.add(symbol);

    let data = HEADER_SIZE.next_multiple_of(section.align());
    let symtab = (data + size).next_multiple_of(8);
    let strtab = symtab + 2 * SYMBOL_SIZE;
    let shstrtab = strtab + symbol_names.size();
    let headers = (shstrtab + section_names.size()).next_multiple_of(8);

    let file_header = Fields::new()
        // 64-bit, little-endian, ELF version 1, no particular operating system.
        .bytes(b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0")
        .u16(&[ET_REL, machine.machine])
        .u32(&[1])
        // The entry point's address, then the offsets of the program headers and section headers.
        .u64(&[0, 0, headers])
        .u32(&[machine.flags])
        // The size of this header, the size and number of program headers. Then the size and count
        // of section headers, and the index of the section name table.
        .u16(&[HEADER_SIZE as u16, 0, 0, SECTION_HEADER_SIZE as u16, 6, 5]);
    let tables = Fields::new()
        // The null symbol.
        .zeros(SYMBOL_SIZE as usize)
        .u32(&[symbol_at])
        .bytes(&[STB_GLOBAL_STT_OBJECT, STV_HIDDEN])
        .u16(&[1])
        .u64(&[0, size])
        .bytes(symbol_names.bytes())
        .bytes(section_names.bytes());

    let sections = [
        (
            name_at,
            section_type(section),
            SHF_ALLOC | machine.section_flags,
            data,
            size,
            0,
            0,
            section.align(),
            0,
        ),
        // This section marks the object as not needing an executable stack.
        (note_at, SHT_PROGBITS, 0, data, 0, 0, 0, 1, 0),
        // `link` is the index of the string table, and `info` the index of the first global symbol.
        (symtab_at, SHT_SYMTAB, 0, symtab, 2 * SYMBOL_SIZE, 4, 1, 8, SYMBOL_SIZE),
        (strtab_at, SHT_STRTAB, 0, strtab, symbol_names.size(), 0, 0, 1, 0),
        (shstrtab_at, SHT_STRTAB, 0, shstrtab, section_names.size(), 0, 0, 1, 0),
    ];
    // The first row of the table is the null section.
    let mut table = Fields::new().zeros(SECTION_HEADER_SIZE as usize);
    for (name, kind, flags, offset, size, link, info, align, entry_size) in sections {
        table = table
            .u32(&[name, kind])
            .u64(&[flags, 0, offset, size])
            .u32(&[link, info])
            .u64(&[align, entry_size]);
    }

    let mut layout = Layout::new();
    layout.push(file_header.piece());
    layout.pad_to(section.align());
    layout.push(Piece::Payload { index: 0, size });
    layout.pad_to(8);
    layout.push(tables.piece());
    layout.pad_to(8);
    layout.push(table.piece());
    layout
}

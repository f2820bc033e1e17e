//! A 64-bit ELF object.
//!
//! | | |
//! |---|---|
//! | file header | 64 bytes |
//! | zeros up to the section's alignment | |
//! | the section | the payload |
//! | the pack's entry in the program's list of packs | if there is one |
//! | the relocation of its address | |
//! | a group of these, so that linkers keep them together | |
//! | symbol table | the null symbol, and the symbol that covers the section |
//! | string table | its name |
//! | section names | |
//! | section headers | null, the section, `.note.GNU-stack`, `.symtab`, `.strtab`, `.shstrtab`; `offload_packs`, `.rela.offload_packs`, `.group` |

use super::fields::{Fields, StringTable};
use super::{DeviceSection, LIST_NAME, PACK_LIST};
use crate::layout::{Layout, Piece};

/// The parts of a file that depend on the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Machine {
    /// `e_machine`.
    machine: u16,
    /// `e_flags`.
    flags: u32,
    /// Flags of the section beside SHF_ALLOC.
    section_flags: u64,
    /// The relocation that puts an address into 64 bits.
    address: u32,
}

/// The section may lie more than 2 GiB away from the code: the linker puts it behind everything that may not.
const SHF_X86_64_LARGE: u64 = 0x1000_0000;

impl Machine {
    pub(super) fn of(arch: &str) -> Option<Self> {
        match arch {
            "x86_64" => Some(Self { machine: 62, flags: 0, section_flags: SHF_X86_64_LARGE, address: 1 }),
            "aarch64" => Some(Self { machine: 183, flags: 0, section_flags: 0, address: 257 }),
            // The double-float ABI, which Rust's hosted targets have; the linker refuses a mixture.
            "riscv64" => Some(Self { machine: 243, flags: 0x5, section_flags: 0, address: 2 }),
            "loongarch64" => Some(Self { machine: 258, flags: 0x43, section_flags: 0, address: 2 }),
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
const SHT_RELA: u32 = 4;
const SHT_GROUP: u32 = 17;
const SHF_WRITE: u64 = 1;
const SHF_GROUP: u64 = 0x200;
const GROUP_SIZE: u64 = 16;
const SHF_INFO_LINK: u64 = 0x40;
const RELOCATION_SIZE: u64 = 24;
/// The number of the symbol that covers the section.
const SYMBOL: u64 = 1;
const STB_GLOBAL_STT_OBJECT: u8 = 1 << 4 | 1;
const STV_HIDDEN: u8 = 2;

/// `size` is far enough below 2^64 for all offsets. `listed` is the pack's name in the program's list of packs.
pub(super) fn write(machine: Machine, section: DeviceSection, symbol: &str, size: u64, listed: Option<&str>) -> Layout {
    let mut section_names = StringTable::new(&[0]);
    let name_at = section_names.add(section.elf_name());
    let note_at = section_names.add(".note.GNU-stack");
    let symtab_at = section_names.add(".symtab");
    let strtab_at = section_names.add(".strtab");
    let shstrtab_at = section_names.add(".shstrtab");
    let list_at = listed.map(|_| [PACK_LIST, ".rela.offload_packs", ".group"].map(|name| section_names.add(name)));
    let mut symbol_names = StringTable::new(&[0]);
    let symbol_at = symbol_names.add(symbol);

    let data = HEADER_SIZE.next_multiple_of(section.align());
    let list = (data + size).next_multiple_of(8);
    let entry = listed.map_or(Fields::new(), |name| list_entry(name, size));
    let relocation = list + entry.size();
    let group = relocation + listed.map_or(0, |_| RELOCATION_SIZE);
    let symtab = group + listed.map_or(0, |_| GROUP_SIZE);
    let strtab = symtab + 2 * SYMBOL_SIZE;
    let shstrtab = strtab + symbol_names.size();
    let headers = (shstrtab + section_names.size()).next_multiple_of(8);

    let file_header = Fields::new()
        // 64-bit, little-endian, ELF version 1, no particular operating system.
        .bytes(b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0")
        .u16([ET_REL, machine.machine])
        .u32([1])
        // Entry point; program headers, section headers.
        .u64([0, 0, headers])
        .u32([machine.flags])
        // Size of this header; size and number of program headers; of section headers; which of them has the names.
        .u16([HEADER_SIZE as u16, 0, 0, SECTION_HEADER_SIZE as u16, if listed.is_some() { 9 } else { 6 }, 5]);
    let relocations = match listed {
        // Where in the section; symbol and type; what to add.
        Some(_) => Fields::new()
            .u64([LIST_ADDRESS, SYMBOL << 32 | u64::from(machine.address), 0])
            // No COMDAT; then the numbers of the sections.
            .u32([0, 1, 6, 7]),
        None => Fields::new(),
    };
    let tables = entry
        .append(relocations)
        // The null symbol.
        .zeros(SYMBOL_SIZE as usize)
        .u32([symbol_at])
        .u8([STB_GLOBAL_STT_OBJECT, STV_HIDDEN])
        .u16([1])
        .u64([0, size])
        .bytes(symbol_names.bytes())
        .bytes(section_names.bytes());

    let grouped = if listed.is_some() { SHF_GROUP } else { 0 };
    let sections = [
        (
            name_at,
            section.elf_type(),
            SHF_ALLOC | machine.section_flags | grouped,
            data,
            size,
            0,
            0,
            section.align(),
            0,
        ),
        // Says that this object needs no executable stack.
        (note_at, SHT_PROGBITS, 0, data, 0, 0, 0, 1, 0),
        // link: the string table's number; info: the first global symbol's.
        (symtab_at, SHT_SYMTAB, 0, symtab, 2 * SYMBOL_SIZE, 4, 1, 8, SYMBOL_SIZE),
        (strtab_at, SHT_STRTAB, 0, strtab, symbol_names.size(), 0, 0, 1, 0),
        (shstrtab_at, SHT_STRTAB, 0, shstrtab, section_names.size(), 0, 0, 1, 0),
    ];
    // The null section first.
    let mut table = Fields::new().zeros(SECTION_HEADER_SIZE as usize);
    let list = list_at.map(|[list_at, rela_at, group_at]| {
        [
            (list_at, SHT_PROGBITS, SHF_ALLOC | SHF_WRITE | SHF_GROUP, list, relocation - list, 0, 0, 8, 0),
            // link: the symbol table's number; info: that of the section with the address.
            (rela_at, SHT_RELA, SHF_INFO_LINK | SHF_GROUP, relocation, RELOCATION_SIZE, 3, 6, 8, RELOCATION_SIZE),
            // link: the symbol table's number; info: the symbol that gives the group its name.
            (group_at, SHT_GROUP, 0, group, GROUP_SIZE, 3, SYMBOL as u32, 4, 4),
        ]
    });
    for (name, kind, flags, offset, size, link, info, align, entry_size) in
        sections.into_iter().chain(list.into_iter().flatten())
    {
        table = table.u32([name, kind]).u64([flags, 0, offset, size]).u32([link, info]).u64([align, entry_size]);
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

/// Offset in bytes of the pack's address in its entry.
const LIST_ADDRESS: u64 = 8;

/// The pack's entry in the list; the address is 0 until the linker has put it there.
fn list_entry(name: &str, size: u64) -> Fields {
    let name_size = name.len() as u64;
    let padded = name_size.next_multiple_of(8);
    let fields = Fields::new().u64([LIST_NAME + padded, 0, size, name_size]);
    fields.bytes(name.as_bytes()).zeros((padded - name_size) as usize)
}

//! A relocatable ELF object with one section and one symbol.
//!
//! | | |
//! |---|---|
//! | file header | 64 bytes |
//! | zeros up to the section's alignment | |
//! | the section | the payload |
//! | symbol table | the null symbol, and the symbol that covers the section |
//! | string table | its name |
//! | section names | |
//! | section headers | null, the section, `.note.GNU-stack`, `.symtab`, `.strtab`, `.shstrtab` |

use super::DeviceSection;
use crate::layout::{Layout, Piece};
use alloc::vec;
use alloc::vec::Vec;

/// What an object file is for: the parts of an ELF header that depend on the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Machine {
    /// `e_machine`.
    machine: u16,
    /// `e_flags`.
    flags: u32,
    /// Flags of the section beside SHF_ALLOC.
    section_flags: u64,
}

/// The section may lie more than 2 GiB away from the code: the linker puts it behind everything that may not.
const SHF_X86_64_LARGE: u64 = 0x1000_0000;

impl Machine {
    /// The machine of a 64-bit little-endian ELF host, by the names that Cargo gives as `CARGO_CFG_TARGET_ARCH`.
    pub fn elf64(target_arch: &str) -> Option<Self> {
        let plain = |machine| Some(Self { machine, flags: 0, section_flags: 0 });
        match target_arch {
            "x86_64" => Some(Self { machine: 62, flags: 0, section_flags: SHF_X86_64_LARGE }),
            "aarch64" => plain(183),
            // The double-float ABI, which Rust's hosted targets have; the linker refuses a mixture.
            "riscv64" => Some(Self { machine: 243, flags: 0x5, section_flags: 0 }),
            "loongarch64" => Some(Self { machine: 258, flags: 0x43, section_flags: 0 }),
            _ => None,
        }
    }
}

const HEADER_SIZE: u64 = 64;
const SECTION_HEADER_SIZE: u64 = 64;
const SYMBOL_SIZE: u64 = 24;

/// Lays out the object: `size` bytes, payload number 0, in `section`, under the global symbol `symbol`, which is hidden
/// from other shared objects.
pub fn write(machine: Machine, section: DeviceSection, symbol: &str, size: u64) -> Layout {
    let name = section.elf_name();
    let mut section_names = Names::new();
    let name_at = section_names.add(name);
    let note_at = section_names.add(".note.GNU-stack");
    let symtab_at = section_names.add(".symtab");
    let strtab_at = section_names.add(".strtab");
    let shstrtab_at = section_names.add(".shstrtab");
    let mut symbol_names = Names::new();
    let symbol_at = symbol_names.add(symbol);

    let data = HEADER_SIZE.next_multiple_of(section.align());
    let symtab = (data + size).next_multiple_of(8);
    let strtab = symtab + 2 * SYMBOL_SIZE;
    let shstrtab = strtab + symbol_names.size();
    let headers = (shstrtab + section_names.size()).next_multiple_of(8);

    let mut layout = Layout::new();
    layout.push(Piece::Bytes(file_header(machine, headers)));
    layout.pad_to(section.align());
    layout.push(Piece::Payload { index: 0, size });
    layout.pad_to(8);

    const STB_GLOBAL_STT_OBJECT: u8 = 1 << 4 | 1;
    const STV_HIDDEN: u8 = 2;
    // The null symbol first.
    let mut tail = vec![0; SYMBOL_SIZE as usize];
    put32(&mut tail, symbol_at);
    tail.extend_from_slice(&[STB_GLOBAL_STT_OBJECT, STV_HIDDEN]);
    tail.extend_from_slice(&1u16.to_le_bytes());
    put64(&mut tail, [0, size]);
    tail.extend_from_slice(&symbol_names.bytes);
    tail.extend_from_slice(&section_names.bytes);
    layout.push(Piece::Bytes(tail));
    layout.pad_to(8);

    const SHF_ALLOC: u64 = 2;
    const SHT_PROGBITS: u32 = 1;
    const SHT_SYMTAB: u32 = 2;
    const SHT_STRTAB: u32 = 3;
    let flags = SHF_ALLOC | machine.section_flags;
    // The null section first.
    let mut table = vec![0; SECTION_HEADER_SIZE as usize];
    let mut header = |name, kind, flags, [offset, size]: [u64; 2], [link, info]: [u32; 2], [align, entry]: [u64; 2]| {
        put32(&mut table, name);
        put32(&mut table, kind);
        put64(&mut table, [flags, 0, offset, size]);
        put32(&mut table, link);
        put32(&mut table, info);
        put64(&mut table, [align, entry]);
    };
    header(name_at, section.elf_type(), flags, [data, size], [0, 0], [section.align(), 0]);
    // Says that this object needs no executable stack.
    header(note_at, SHT_PROGBITS, 0, [data, 0], [0, 0], [1, 0]);
    // link: the string table's number; info: the first global symbol's.
    header(symtab_at, SHT_SYMTAB, 0, [symtab, 2 * SYMBOL_SIZE], [4, 1], [8, SYMBOL_SIZE]);
    header(strtab_at, SHT_STRTAB, 0, [strtab, symbol_names.size()], [0, 0], [1, 0]);
    header(shstrtab_at, SHT_STRTAB, 0, [shstrtab, section_names.size()], [0, 0], [1, 0]);
    layout.push(Piece::Bytes(table));
    layout
}

fn file_header(machine: Machine, section_headers: u64) -> Vec<u8> {
    const ET_REL: u16 = 1;
    let mut out = Vec::with_capacity(HEADER_SIZE as usize);
    // 64-bit, little-endian, ELF version 1, no particular operating system.
    out.extend_from_slice(b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0");
    out.extend_from_slice(&ET_REL.to_le_bytes());
    out.extend_from_slice(&machine.machine.to_le_bytes());
    put32(&mut out, 1);
    put64(&mut out, [0, 0, section_headers]);
    put32(&mut out, machine.flags);
    // Size of this header; size and number of program headers; of section headers; which of them has the names.
    for field in [HEADER_SIZE as u16, 0, 0, SECTION_HEADER_SIZE as u16, 6, 5] {
        out.extend_from_slice(&field.to_le_bytes());
    }
    out
}

fn put32(out: &mut Vec<u8>, value: u32) {
    out.extend_from_slice(&value.to_le_bytes());
}

fn put64<const N: usize>(out: &mut Vec<u8>, values: [u64; N]) {
    values.iter().for_each(|value| out.extend_from_slice(&value.to_le_bytes()));
}

/// An ELF string table.
struct Names {
    bytes: Vec<u8>,
}

impl Names {
    fn new() -> Self {
        Self { bytes: alloc::vec![0] }
    }

    fn add(&mut self, name: &str) -> u32 {
        let at = self.bytes.len() as u32;
        self.bytes.extend_from_slice(name.as_bytes());
        self.bytes.push(0);
        at
    }

    fn size(&self) -> u64 {
        self.bytes.len() as u64
    }
}

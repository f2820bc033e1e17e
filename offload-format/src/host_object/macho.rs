//! A 64-bit Mach-O object.
//!
//! | bytes | |
//! |---|---|
//! | 32 | file header |
//! | 72 + 80 | `LC_SEGMENT_64`, with the section's header |
//! | 24 | `LC_BUILD_VERSION`: the system |
//! | 24 | `LC_SYMTAB` |
//! | 80 | `LC_DYSYMTAB` |
//! | | the section: the payload |
//! | | zeros up to a multiple of 8 |
//! | 16 | symbol table: the symbol that covers the section |
//! | | string table: a NUL, the symbol's name |
//!
//! Apple's `<mach-o/loader.h>` and `<mach-o/nlist.h>` describe these structures; LLVM 22.1.8 reads
//! and links the object.

use super::fields::{Fields, StringTable};
use crate::layout::{Layout, Piece};
use crate::section::DeviceSection;

/// The host-dependent values of the object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Machine {
    cpu_type: u32,
    cpu_subtype: u32,
    /// The oldest supported macOS version. This is Rust's default, because linkers warn about an
    /// object whose version is newer than the program's.
    min_os: u32,
}

impl Machine {
    pub(super) fn of(arch: &str) -> Option<Self> {
        const CPU_ARCH_ABI64: u32 = 0x0100_0000;
        // A version packs its first number into 16 bits, and each of the next two into 8 bits.
        match arch {
            "x86_64" => Some(Self {
                cpu_type: CPU_ARCH_ABI64 | 7,
                cpu_subtype: 3,
                min_os: 10 << 16 | 12 << 8,
            }),
            "aarch64" => {
                Some(Self { cpu_type: CPU_ARCH_ABI64 | 12, cpu_subtype: 0, min_os: 11 << 16 })
            }
            _ => None,
        }
    }
}

const HEADER_SIZE: u32 = 32;
const SEGMENT_SIZE: u32 = 72 + 80;
const BUILD_VERSION_SIZE: u32 = 24;
const SYMTAB_SIZE: u32 = 24;
const DYSYMTAB_SIZE: u32 = 80;
const COMMANDS_SIZE: u32 = SEGMENT_SIZE + BUILD_VERSION_SIZE + SYMTAB_SIZE + DYSYMTAB_SIZE;
const SYMBOL_SIZE: u32 = 16;

const MH_MAGIC_64: u32 = 0xfeed_facf;
const MH_OBJECT: u32 = 1;
/// Allows linkers to split the section at its symbols and drop unreferenced parts.
const MH_SUBSECTIONS_VIA_SYMBOLS: u32 = 0x2000;
const LC_SYMTAB: u32 = 0x2;
const LC_DYSYMTAB: u32 = 0xb;
const LC_SEGMENT_64: u32 = 0x19;
const LC_BUILD_VERSION: u32 = 0x32;
const PLATFORM_MACOS: u32 = 1;
const VM_PROT_ALL: u32 = 7;
const N_EXT: u8 = 0x01;
const N_SECT: u8 = 0x0e;
/// Makes a symbol visible to other objects in the link, but not to other shared objects.
const N_PEXT: u8 = 0x10;

/// Lays out the object for a payload of `size` bytes. All offsets must stay below 4 GiB.
pub(super) fn write(machine: Machine, section: DeviceSection, symbol: &str, size: u32) -> Layout {
    let (segment_name, section_name) = section.names().macho;
    let mut names = StringTable::new(&[0]);
    let symbol_name = names.add(symbol);

    let data = HEADER_SIZE + COMMANDS_SIZE;
    let symbols = (data + size).next_multiple_of(8);
    let bytes = u64::from(size);
    let head = Fields::new()
        // The magic, the processor, the file type; then the number and size of the commands, the
        // flags, a reserved field.
        .u32(&[MH_MAGIC_64, machine.cpu_type, machine.cpu_subtype, MH_OBJECT])
        .u32(&[4, COMMANDS_SIZE, MH_SUBSECTIONS_VIA_SYMBOLS, 0])
        // Objects have one unnamed segment. The numbers are the segment's address and size in
        // memory, then its offset and size in the file.
        .u32(&[LC_SEGMENT_64, SEGMENT_SIZE])
        .name("", 16)
        .u64(&[0, bytes, data.into(), bytes])
        // The segment's maximum and initial protection, its number of sections, its flags.
        .u32(&[VM_PROT_ALL, VM_PROT_ALL, 1, 0])
        .name(section_name, 16)
        .name(segment_name, 16)
        // The section's address and size in memory, then its offset in the file and its alignment
        // as a power of two. The relocations, flags and reserved fields are 0.
        .u64(&[0, bytes])
        .u32(&[data, section.align().ilog2(), 0, 0, 0, 0, 0, 0])
        // The last three fields: the oldest system, the version of the SDK, the number of tools.
        .u32(&[LC_BUILD_VERSION, BUILD_VERSION_SIZE, PLATFORM_MACOS, machine.min_os, 0, 0])
        .u32(&[LC_SYMTAB, SYMTAB_SIZE, symbols, 1, symbols + SYMBOL_SIZE, names.size() as u32])
        // The first index and the number of local symbols, then those of the defined external
        // symbols and of the undefined symbols. Only programs and libraries use the remaining
        // fields.
        .u32(&[LC_DYSYMTAB, DYSYMTAB_SIZE, 0, 0, 0, 1, 1, 0])
        .zeros(12 * 4);
    let tail = Fields::new()
        // The symbol: its name, type, section, description and value.
        .u32(&[symbol_name])
        .bytes(&[N_SECT | N_EXT | N_PEXT, 1])
        .u16(&[0])
        .u64(&[0])
        .bytes(names.bytes());

    let mut layout = Layout::new();
    layout.push(head.piece());
    layout.push(Piece::Payload { index: 0, size: bytes });
    layout.pad_to(8);
    layout.push(tail.piece());
    layout
}

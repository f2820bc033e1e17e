//! A COFF object.
//!
//! | bytes | |
//! |---|---|
//! | 20 | file header |
//! | 40 | section header |
//! | | the section: the payload |
//! | 3 × 18 | symbol table: the section's symbol, its auxiliary record, the symbol that covers the section |
//! | | string table: its size, the names of the section and of the symbol that covers it |
//!
//! Microsoft's "PE Format" describes these structures; LLVM 22.1.8 reads and links the object.

use super::fields::{Fields, StringTable};
use crate::layout::{Layout, Piece};
use crate::section::DeviceSection;

/// The `Machine` field of the file header: the processor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Machine(u16);

impl Machine {
    pub(super) fn of(arch: &str) -> Option<Self> {
        match arch {
            "x86_64" => Some(Self(0x8664)),
            "aarch64" => Some(Self(0xaa64)),
            _ => None,
        }
    }
}

const HEADERS_SIZE: u32 = 20 + 40;
const SYMBOLS: u32 = 3;

const IMAGE_SCN_CNT_INITIALIZED_DATA: u32 = 0x40;
/// Marks a COMDAT, the only kind of section that `/opt:ref` drops when nothing refers to it.
const IMAGE_SCN_LNK_COMDAT: u32 = 0x1000;
const IMAGE_SCN_MEM_READ: u32 = 0x4000_0000;
const IMAGE_COMDAT_SELECT_NODUPLICATES: u8 = 1;
const IMAGE_SYM_CLASS_EXTERNAL: u8 = 2;
const IMAGE_SYM_CLASS_STATIC: u8 = 3;

/// Lays out the object for a payload of `size` bytes. All offsets must stay below 4 GiB.
pub(super) fn write(machine: Machine, section: DeviceSection, symbol: &str, size: u32) -> Layout {
    // The string table starts with its size. Four zero bytes stand in until the size is known.
    let mut names = StringTable::new(&[0; 4]);
    let section_name = names.add(section.names().name);
    let symbol_name = names.add(symbol);

    // Bits 20 to 23 contain the alignment: 1 (IMAGE_SCN_ALIGN_1BYTES) means 1 byte, 2 means 2
    // bytes, 3 means 4 bytes, and so on.
    let align = (section.align().ilog2() + 1) << 20;
    let characteristics =
        IMAGE_SCN_CNT_INITIALIZED_DATA | IMAGE_SCN_LNK_COMDAT | align | IMAGE_SCN_MEM_READ;
    let head = Fields::new()
        .u16(&[machine.0, 1])
        // The time stamp, the symbol table's offset, the number of symbols.
        .u32(&[0, HEADERS_SIZE + size, SYMBOLS])
        // The size of the optional header, the characteristics of the file.
        .u16(&[0, 0])
        // The name has more than eight bytes, so the field contains `/` and the name's offset in
        // the string table.
        .name(&alloc::format!("/{section_name}"), 8)
        // The section's size and address in memory, which are 0 in objects. Then its size and
        // offset in the file, and the offsets and numbers of relocations and line numbers, which
        // this section does not have.
        .u32(&[0, 0, size, HEADERS_SIZE, 0, 0])
        .u16(&[0, 0])
        .u32(&[characteristics]);
    let symbols = Fields::new()
        // The section's symbol: its name and value, its section and type, its storage class and the
        // number of its auxiliary records.
        .u32(&[0, section_name, 0])
        .u16(&[1, 0])
        .bytes(&[IMAGE_SYM_CLASS_STATIC, 1])
        // The auxiliary record: the section's size, then the counts of relocations and line
        // numbers. Then a checksum, which this COMDAT selection does not need, the section's
        // number, and the selection.
        .u32(&[size])
        .u16(&[0, 0])
        .u32(&[0])
        .u16(&[1])
        .bytes(&[IMAGE_COMDAT_SELECT_NODUPLICATES, 0, 0, 0])
        // The symbol after the section's own symbol names the COMDAT.
        .u32(&[0, symbol_name, 0])
        .u16(&[1, 0])
        .bytes(&[IMAGE_SYM_CLASS_EXTERNAL, 0])
        .u32(&[names.size() as u32])
        .bytes(&names.bytes()[4..]);

    let mut layout = Layout::new();
    layout.push(head.piece());
    layout.push(Piece::Payload { index: 0, size: size.into() });
    layout.push(symbols.piece());
    layout
}

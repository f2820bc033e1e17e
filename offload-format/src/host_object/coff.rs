//! A COFF object.
//!
//! | bytes | |
//! |---|---|
//! | 20 | file header |
//! | 40 | section header |
//! | | the section: the payload |
//! | 3 × 18 | symbol table: the section's symbol, what it says of the section, the symbol that covers it |
//! | | string table: its size, the section's name, the symbol's |
//!
//! Microsoft's "PE Format" describes it; LLVM 22.1.8 reads and links it.

use super::fields::{Fields, StringTable};
use crate::layout::{Layout, Piece};
use crate::section::DeviceSection;

/// `Machine` of the file header.
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
/// The flag of a COMDAT, the only kind of section that `/opt:ref` drops when nothing refers to it.
const IMAGE_SCN_LNK_COMDAT: u32 = 0x1000;
const IMAGE_SCN_MEM_READ: u32 = 0x4000_0000;
const IMAGE_COMDAT_SELECT_NODUPLICATES: u8 = 1;
const IMAGE_SYM_CLASS_EXTERNAL: u8 = 2;
const IMAGE_SYM_CLASS_STATIC: u8 = 3;

/// Lays out the object for a payload of `size` bytes, which must be small enough for all offsets to
/// be below 4 GiB.
pub(super) fn write(machine: Machine, section: DeviceSection, symbol: &str, size: u32) -> Layout {
    // The table's size is its first field.
    let mut names = StringTable::new(&[0; 4]);
    let section_name = names.add(section.names().name);
    let symbol_name = names.add(symbol);

    // IMAGE_SCN_ALIGN_1BYTES is 1 in bits 20 to 23, and so on by powers of two.
    let align = (section.align().ilog2() + 1) << 20;
    let characteristics =
        IMAGE_SCN_CNT_INITIALIZED_DATA | IMAGE_SCN_LNK_COMDAT | align | IMAGE_SCN_MEM_READ;
    let head = Fields::new()
        .u16(&[machine.0, 1])
        // Time stamp, offset and number of symbols.
        .u32(&[0, HEADERS_SIZE + size, SYMBOLS])
        // Size of the optional header, characteristics.
        .u16(&[0, 0])
        // A name of more than eight bytes is an offset in the string table.
        .name(&alloc::format!("/{section_name}"), 8)
        // Size and address in the image. Size and offset in the file; offsets of relocations and
        // line numbers, which this section does not have.
        .u32(&[0, 0, size, HEADERS_SIZE, 0, 0])
        .u16(&[0, 0])
        .u32(&[characteristics]);
    let symbols = Fields::new()
        // Name, value; section, type; storage class, auxiliary records.
        .u32(&[0, section_name, 0])
        .u16(&[1, 0])
        .bytes(&[IMAGE_SYM_CLASS_STATIC, 1])
        // Size; relocations, line numbers; checksum, which this selection does not need; section,
        // selection.
        .u32(&[size])
        .u16(&[0, 0])
        .u32(&[0])
        .u16(&[1])
        .bytes(&[IMAGE_COMDAT_SELECT_NODUPLICATES, 0, 0, 0])
        // The COMDAT is named after the symbol that follows the section's own symbol.
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

//! Writes libraries for Apple's linkers: BSD archives with Darwin's alignment.
//!
//! | bytes | |
//! |---|---|
//! | 8 | magic |
//! | 60 + 12 | header of the symbol table, its name `__.SYMDEF` padded with NULs |
//! | | the table: one pair, the symbol's name, zeros up to a multiple of 8 |
//! | 60 | header of the member |
//! | | its name, NUL-padded so that the data starts at a multiple of 8 |
//! | | the payload, padded to a multiple of 8 with line feeds, which count towards the member's size |
//!
//! `llvm-ar --format=darwin` of LLVM 22.1.8 writes the same bytes.

use super::write::member_header;
use super::{HEADER_SIZE, MAGIC, MAX_SIZE};
use crate::layout::{Layout, Piece};
use alloc::format;
use alloc::vec::Vec;

/// The alignment of names and data: loaders map Mach-O members in place.
const ALIGN: usize = 8;

/// Lays out an archive with one member and one symbol, which linkers for macOS read as
/// `lib<name>.a`. The member is payload 0, `size` bytes long. `member` is the file name that
/// linkers print; `symbol` includes the leading underscore.
///
/// # Panics
/// Panics if `symbol` contains a NUL, or if the member's size, including its name and padding,
/// exceeds the format's 10 digits.
pub fn write_darwin_library(member: &str, symbol: &str, size: u64) -> Layout {
    assert!(!symbol.contains('\0'), "the symbol name {symbol:?} contains a NUL");
    let mut names = symbol.as_bytes().to_vec();
    names.push(0);
    let names_size = names.len();
    // The padding counts towards the size of the table, but not of the names.
    names.resize(names.len().next_multiple_of(ALIGN), 0);

    let mut out = MAGIC.to_vec();
    let table = 4 + 8 + 4 + names.len() as u64;
    // The table is not a file, so its mode is 0.
    push_header(&mut out, "__.SYMDEF", "0", table);
    let member_offset = out.len() + table as usize;
    let number = |number: usize| {
        u32::try_from(number).expect("the table of one symbol is small").to_le_bytes()
    };
    // The size of the pairs, the only pair (name offset, member header offset), the size of the
    // names.
    out.extend([number(8), number(0), number(member_offset), number(names_size)].as_flattened());
    out.extend(names);

    let padding = size.next_multiple_of(ALIGN as u64) - size;
    push_header(&mut out, member, "644", size + padding);
    let mut layout = Layout::new();
    layout.push(Piece::Bytes(out));
    layout.push(Piece::Payload { index: 0, size });
    layout.push(Piece::Bytes(alloc::vec![b'\n'; padding as usize]));
    layout
}

/// Appends a member's header, then the name as the member's first bytes.
fn push_header(out: &mut Vec<u8>, name: &str, mode: &str, size: u64) {
    let start = out.len() + HEADER_SIZE as usize + name.len();
    let name_size = name.len() + (start.next_multiple_of(ALIGN) - start);
    let size = size.saturating_add(name_size as u64);
    assert!(
        size <= MAX_SIZE,
        "an archive member of {size} bytes is too large: the format allows at most {MAX_SIZE}"
    );
    out.extend(member_header(format!("#1/{name_size}").as_bytes(), mode, size));
    let end = out.len() + name_size;
    out.extend_from_slice(name.as_bytes());
    out.resize(end, 0);
}

//! A GNU archive of one object with one symbol: what `rustc` and linkers take as `lib<name>.a`.

use crate::layout::{Layout, Piece};
use alloc::format;
use alloc::vec::Vec;

const MAGIC: &[u8] = b"!<arch>\n";
const MEMBER_HEADER_SIZE: u64 = 60;

/// Lays out an archive with a symbol table and one member, payload number 0, of `size` bytes. Time stamp, owner and group
/// are 0, so the same member gives the same bytes.
///
/// `member` is the file name that linkers print.
///
/// # Panics
/// If `member` is longer than 15 bytes, or `size` has more than the 10 digits that the format has room for.
pub fn write_library(member: &str, symbol: &str, size: u64) -> Layout {
    assert!(member.len() <= 15, "a longer member name needs a name table");
    let mut table = Vec::new();
    // Big-endian, by the format: the number of symbols, and for each the offset of its member's header.
    let table_size = (4 + 4 + symbol.len() as u64 + 1).next_multiple_of(2);
    let member_at = (MAGIC.len() as u64 + MEMBER_HEADER_SIZE + table_size) as u32;
    table.extend_from_slice(&1u32.to_be_bytes());
    table.extend_from_slice(&member_at.to_be_bytes());
    table.extend_from_slice(symbol.as_bytes());
    table.resize(table_size as usize, 0);

    let mut head = Vec::from(MAGIC);
    // The table is no file: it has no mode.
    head.extend_from_slice(&member_header("/", "0", table_size));
    head.extend_from_slice(&table);
    head.extend_from_slice(&member_header(&format!("{member}/"), "644", size));
    let mut layout = Layout::new();
    layout.push(Piece::Bytes(head));
    layout.push(Piece::Payload { index: 0, size });
    if size % 2 == 1 {
        layout.push(Piece::Bytes(b"\n".into()));
    }
    layout
}

fn member_header(name: &str, mode: &str, size: u64) -> Vec<u8> {
    let header = format!("{name:<16}{:<12}{:<6}{:<6}{:<8}{size:<10}`\n", 0, 0, 0, mode);
    assert_eq!(header.len() as u64, MEMBER_HEADER_SIZE, "a member of {size} bytes has no room in an archive");
    header.into_bytes()
}

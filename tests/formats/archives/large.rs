//! Compares archives over 4 GiB and their symbol tables with `llvm-ar` and `llvm-nm`.

use super::{NAMES, armap, listed, members, our_armap};
use offload_format::archive::ArchiveBuilder;
use offload_format::layout::Piece;
use offload_tests::prelude::*;

/// Compares symbol tables with 64-bit offsets in small archives. LLVM writes such tables if an
/// option requests them.
#[test(LLVM)]
fn the_table_of_64_bit_offsets() {
    let folder = scratch::folder("archives-sym64");
    members(&folder);
    for (format, table) in [("gnu", "/SYM64/"), ("darwin", "__.SYMDEF_64")] {
        let archive = format!("{format}.a");
        let options = format!("crD --format={format} {archive}");
        let mut tool = in_folder(llvm("llvm-ar"), &folder, &options);
        succeed(tool.env("SYM64_THRESHOLD", "1").args(NAMES));
        let bytes = read(folder.join(&archive));
        assert!(bytes[8..].windows(table.len()).take(70).any(|it| it == table.as_bytes()));
        assert_eq!(our_armap(&bytes), armap(&folder, &archive));
        assert_eq!(our_armap(&bytes).len(), 6);
    }
}

/// Tests that `llvm-nm` and `llvm-ar` read our archive: a sparse file with holes in place of
/// payloads.
#[test(LLVM)]
fn members_behind_4_gib() {
    use std::io::{Seek, SeekFrom, Write};
    let folder = scratch::folder("archives-4-gib");
    let gib = 1u64 << 30;
    // The last member starts just below 4 GiB, just above it, or far above it. Below 4 GiB, the
    // symbol table has 32-bit offsets, otherwise 64-bit offsets.
    for (size, wide) in [(4 * gib - 400, false), (4 * gib, true), (9 * gib, true)] {
        let mut builder = ArchiveBuilder::new();
        builder.object("first", size, ["a", "bb"]).unwrap();
        builder.object("second", 3, ["c"]).unwrap();
        let layout = builder.layout();
        let mut file = fs::File::create(folder.join("x.a")).unwrap();
        for piece in layout.pieces() {
            match piece {
                Piece::Bytes(bytes) => file.write_all(bytes).unwrap(),
                Piece::Zeros(size) | Piece::Payload { size, .. } => {
                    file.seek(SeekFrom::Current(*size as i64)).unwrap();
                }
            }
        }
        file.set_len(layout.size()).unwrap();
        let Some(Piece::Bytes(head)) = layout.pieces().first() else {
            panic!("a header comes first")
        };
        assert_eq!(head[8..].starts_with(b"/SYM64/ "), wide, "{size}");
        assert_eq!(armap(&folder, "x.a"), ["a in first", "bb in first", "c in second"], "{size}");
        assert_eq!(listed(llvm("llvm-ar"), &folder, "x.a"), ["first", "second"]);
    }
    fs::remove_file(folder.join("x.a")).unwrap();
}

//! Several compressed and uncompressed bundles in one section, compared with LLVM 22's
//! `llvm-objdump`. Also tests the end of each bundle.

use super::{LIMIT, hip_bundle, ids};
use offload_format::ErrorKind;
use offload_format::bundle::EntryTable;
use offload_format::compressed::{CompressOptions, CompressedBundle, Found, compress};
use offload_tests::bytes::set;
use offload_tests::prelude::*;

/// Tests bundles of one kind in a row, which llvm-objdump extracts from a linked program's section.
/// `properties::bundles` mixes kinds.
#[test(LLVM)]
fn several_in_a_row() {
    let folder = scratch::folder("compressed-row");
    let payload = some_bytes(4, 5000);
    let plain = hip_bundle(&[payload.clone(), some_bytes(9, 100)]);
    let compressed = compress(&plain, &CompressOptions::default()).unwrap();
    for (bundle, is_plain) in [(&plain, true), (&compressed, false)] {
        let mut section = Vec::new();
        for _ in 0..3 {
            section.resize(section.len().next_multiple_of(4096), 0);
            section.extend_from_slice(bundle);
        }
        scratch::write(folder.join("section"), &section);
        // The bundles are aligned, as in a linker's output.
        let source = ".section .hip_fatbin,\"a\"\n.p2align 12\n.incbin \"section\"\n";
        scratch::write(folder.join("fat.s"), source);
        run(llvm("clang"), &folder, "-c fat.s -o fat.o --target=x86_64-unknown-linux-gnu");
        let dump = run(llvm("llvm-objdump"), &folder, "--offloading fat.o");
        let listed = dump.lines().filter(|line| line.contains("Extracting offload bundle")).count();
        let entries = |found| match found {
            Found::Plain(bundle) => bundle.entries().count(),
            Found::Compressed(bundle) => {
                EntryTable::parse(&bundle.entry_table(LIMIT).unwrap()).unwrap().entries().count()
            }
        };
        let ours: usize = Found::in_a_row(&section, LIMIT).map(|it| entries(it.unwrap().1)).sum();
        assert_eq!(listed, ours, "{dump}");
        // For a compressed bundle, llvm-objdump 22 extracts bytes of the file itself, so only
        // uncompressed bundles are compared.
        for number in 0..if is_plain { 3 } else { 0 } {
            let name = format!("fat.o.{number}.{}", ids(1)[1]);
            assert_same_bytes(&read(folder.join(name)), &payload, "what llvm-objdump took out");
        }
    }
}

#[test]
fn the_end_is_where_the_size_says() {
    let plain = hip_bundle(&[some_bytes(1, 100)]);
    let whole = compress(&plain, &CompressOptions::default()).unwrap();
    // Other bytes after the bundle are a separate error, reported at their own place.
    let section = [&whole[..], b"\0\0\0garbage"].concat();
    let found: Vec<_> = Found::in_a_row(&section, LIMIT).collect();
    assert_eq!(found.len(), 2);
    assert!(found[0].is_ok());
    let error = found[1].as_ref().unwrap_err();
    assert_eq!((error.kind(), error.offset()), (ErrorKind::BadMagic, whole.len() as u64 + 3));
    // A size of 0 means that the stream may go on to the end.
    let mut unsized_ = whole.clone();
    set(&mut unsized_, 8, 0);
    let bundle = CompressedBundle::parse(&unsized_).unwrap();
    assert_eq!((bundle.total_size, bundle.find_size(LIMIT).unwrap()), (None, whole.len() as u64));
    assert_eq!(bundle.decompress(LIMIT).unwrap(), plain);
}

//! Compressed bundles of all versions, and one of more than 4 GiB; compared with files of the
//! corpus and with the inputs.

use super::LIMIT;
use offload_format::ErrorKind;
use offload_format::bundle::{BundleBuilder, EntryTable, HIP_ENTRY_PREFIX};
use offload_format::compressed::{CompressOptions, CompressedBundle, Version, compress};
use offload_format::layout::Piece;
use offload_tests::prelude::*;

offload_tests::tests! {
    NOTHING => [files_of_all_versions],
    NOTHING.slow() => [over_4_gib],
}

/// Tests files of LLVM 22, and hand-made files of versions that LLVM 22 does not write. The dumps
/// of `golden` have versions, methods and hashes.
fn files_of_all_versions() {
    let plain = corpus_file("compressed/plain.bc");
    let mut seen = Vec::new();
    for file in
        corpus("compressed").iter().filter(|it| it.extension().is_some_and(|it| it == "ccob"))
    {
        let bytes = read(file);
        let bundle = CompressedBundle::parse(&bytes).unwrap();
        let inside = bundle.decompress(LIMIT).unwrap();
        if file.ends_with("text.ii.ccob") {
            assert!(inside.starts_with(b"\n// __CLANG_OFFLOAD_BUNDLE____START__"));
            assert_eq!(bundle.entry_table(LIMIT).unwrap_err().kind(), ErrorKind::BadMagic);
        } else {
            assert_same_bytes(&inside, &plain, &file.display().to_string());
        }
        seen.push((bundle.version(), bundle.method_number()));
    }
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen, [(1, 0), (1, 1), (2, 0), (2, 1), (3, 0), (3, 1)]);
}

/// Tests a bundle with a code object of over 4 GiB, almost all zeros, which zstd compresses well.
fn over_4_gib() {
    let size = (1u64 << 32) + 5;
    let mut builder = BundleBuilder::hip();
    builder.entry(&format!("{HIP_ENTRY_PREFIX}gfx90a"), size).unwrap();
    builder.entry(&format!("{HIP_ENTRY_PREFIX}gfx942"), 7).unwrap();
    let layout = builder.layout();
    let (first, second) = (layout.offset_of(1).unwrap(), layout.offset_of(2).unwrap());
    let mut plain = vec![0u8; layout.size() as usize];
    let Some(Piece::Bytes(head)) = layout.pieces().first() else { panic!("the table is first") };
    plain[..head.len()].copy_from_slice(head);
    plain[first as usize] = 1;
    plain[second as usize..].copy_from_slice(b"seventh");

    let mut options = CompressOptions::default();
    options.level = Some(1);
    let whole = compress(&plain, &options).unwrap();
    let bundle = CompressedBundle::parse(&whole).unwrap();
    assert_eq!(bundle.uncompressed_size(), layout.size());
    let table = bundle.entry_table(1 << 28).unwrap();
    let entries: Vec<_> = EntryTable::parse(&table).unwrap().entries().collect();
    assert_eq!((entries[1].size(), entries[2].offset()), (size, second));
    // The decoder keeps only its window and the seven bytes, not the whole bundle.
    assert_eq!(bundle.code_object(&entries[2], 1 << 28).unwrap(), b"seventh");
    let kind = bundle.code_object(&entries[2], 1 << 20).unwrap_err().kind();
    assert!(matches!(kind, ErrorKind::LimitExceeded { .. }), "{kind:?}");
    let limit = ErrorKind::LimitExceeded { need: size, limit: 1 << 28 };
    assert_eq!(bundle.code_object(&entries[1], 1 << 28).unwrap_err().kind(), limit);
    drop(plain);

    options.version = Version::V2;
    let need = (1_u64 << 32) + 1;
    let error = compress(&vec![0; need as usize], &options).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::LimitExceeded { need, limit: u32::MAX.into() });
}

//! Compressed bundles that have invalid headers, are truncated, exceed the caller's limit, or are
//! larger than 4 GiB. Invalid headers are also passed to LLVM 22's `clang-offload-bundler`.

use super::{LIMIT, every_option, hip_bundle, ids};
use offload_format::ErrorKind;
use offload_format::bundle::{BundleBuilder, EntryTable, HIP_ENTRY_PREFIX};
use offload_format::compressed::{
    CompressOptions, CompressedBundle, Found, MAGIC, Version, compress,
};
use offload_format::inventory::Inventory;
use offload_format::layout::Piece;
use offload_tests::bytes::set;
use offload_tests::prelude::*;

/// Tests header values that LLVM or our reader rejects.
#[test(LLVM)]
fn headers_that_are_wrong() {
    let folder = scratch::folder("compressed-wrong");
    let code_object = some_bytes(1, 3000);
    let plain = hip_bundle(std::slice::from_ref(&code_object));
    let good = compress(&plain, &CompressOptions::default()).unwrap();
    let (total, size) = (good.len() as u64, plain.len() as u64);
    const TOTAL: usize = 8;
    const UNCOMPRESSED: usize = 16;
    const HASH: usize = 24;
    for (at, value, for_llvm, for_us) in [
        (HASH, 0, true, true),
        (UNCOMPRESSED, size + 9, true, true),
        (UNCOMPRESSED, size - 1, false, false),
        (TOTAL, 0, true, true),
        // LLVM does not read this field.
        (TOTAL, total + 1, true, false),
        (TOTAL, total - 1, true, false),
    ] {
        let changed = patched(&good, at, &value.to_le_bytes());
        let found = CompressedBundle::parse(&changed).and_then(|bundle| bundle.decompress(LIMIT));
        let what = format!("{value} at {at}");
        assert_eq!(found.is_ok_and(|found| found == plain), for_us, "{what}");
        scratch::write(folder.join("changed"), &changed);
        let options =
            format!("-type=o -unbundle -input=changed -output=out -targets={}", ids(1)[1]);
        assert_eq!(succeeds(llvm("clang-offload-bundler"), &folder, &options), for_llvm, "{what}");
        if for_llvm {
            assert_same_bytes(&read(folder.join("out")), &code_object, "LLVM's");
        }
    }
    // A bundle with an unknown method is listed but cannot be decompressed.
    let changed = patched(&good, 6, b"\x02");
    let bundle = CompressedBundle::parse(&changed).unwrap();
    assert_eq!((bundle.method(), bundle.method_number()), (None, 2));
    let kind = bundle.decompress(LIMIT).unwrap_err().kind();
    assert_eq!(kind, ErrorKind::UnsupportedCompression { method: 2 });
    for version in [0, 4] {
        let kind = CompressedBundle::parse(&patched(&good, 4, &[version])).unwrap_err().kind();
        assert_eq!(kind, ErrorKind::UnsupportedVersion { version: version.into() });
    }
}

/// Tests that the table, and a code object near the start, can be read from a truncated stream.
#[test]
fn what_lies_behind_is_not_looked_at() {
    let mut random = Random::new(3);
    let code_objects = vec![random.bytes(300_000), random.bytes(3_000_000)];
    let plain = hip_bundle(&code_objects);
    for options in every_option() {
        let mut whole = compress(&plain, &options).unwrap();
        whole.truncate(whole.len() - 1_000_000);
        let size = whole.len() as u64;
        whole[8..][..if options.version == Version::V2 { 4 } else { 8 }].fill(0);
        whole[8..12].copy_from_slice(&(size as u32).to_le_bytes());
        let bundle = CompressedBundle::parse(&whole).unwrap();
        assert!(bundle.decompress(LIMIT).is_err());
        let table = bundle.entry_table(LIMIT).unwrap();
        let entries: Vec<_> = EntryTable::parse(&table).unwrap().entries().collect();
        assert_eq!(bundle.code_object(&entries[1], LIMIT).unwrap(), code_objects[0]);
        assert!(bundle.code_object(&entries[2], LIMIT).is_err());
    }
}

#[test]
fn the_end_is_where_the_size_says() {
    let plain = hip_bundle(&[some_bytes(1, 100)]);
    let whole = compress(&plain, &CompressOptions::default()).unwrap();
    // Garbage after the bundle is a separate error, reported at the garbage's offset.
    let section = [&whole[..], b"\0\0\0garbage"].concat();
    let found: Vec<_> = Found::in_a_row(&section, LIMIT).collect();
    assert_eq!(found.len(), 2);
    assert!(found[0].is_ok());
    let error = found[1].as_ref().unwrap_err();
    assert_eq!((error.kind(), error.offset()), (ErrorKind::BadMagic, whole.len() as u64 + 3));
    // If the header states size 0, the stream may extend to the end of the input.
    let mut unsized_ = whole.clone();
    set(&mut unsized_, 8, 0);
    let bundle = CompressedBundle::parse(&unsized_).unwrap();
    assert_eq!((bundle.total_size, bundle.find_size(LIMIT).unwrap()), (None, whole.len() as u64));
    assert_eq!(bundle.decompress(LIMIT).unwrap(), plain);
}

/// Very many empty entries compress into a few bytes, so the file's size limits the list.
#[test]
fn lists_of_small_files_are_small() {
    let count = 20_000;
    let mut table = [b"__CLANG_OFFLOAD_BUNDLE__".as_slice(), &u64::to_le_bytes(count)].concat();
    table.resize(table.len() + 24 * count as usize, 0);
    let file = compress(&table, &CompressOptions::default()).unwrap().repeat(10);
    let inventory = Inventory::of(&file, LIMIT);
    assert_eq!(inventory.containers.len(), 10);
    assert!((4000..20_000).contains(&inventory.images.len()), "{}", inventory.images.len());
    assert!(inventory.problems[0].error.to_string().contains("list of images"));
}

#[test]
fn truncations() {
    for file in corpus("compressed") {
        let bytes = read(&file);
        if !bytes.starts_with(&MAGIC) {
            continue;
        }
        let size = CompressedBundle::parse(&bytes).unwrap().find_size(LIMIT).unwrap() as usize;
        for length in 0..size {
            let cut = &bytes[..length];
            match CompressedBundle::parse(cut) {
                Err(error) => assert!(
                    matches!(
                        error.kind(),
                        ErrorKind::Truncated { .. } | ErrorKind::OutOfBounds { .. }
                    ),
                    "{error}"
                ),
                // A version 1 header has no total size, so parsing it cannot detect the truncation.
                Ok(bundle) => {
                    assert_eq!(bundle.version, 1, "{}: {length} bytes", file.display());
                    assert!(bundle.decompress(LIMIT).is_err(), "{}: {length}", file.display());
                    assert!(bundle.find_size(LIMIT).is_err(), "{}: {length}", file.display());
                }
            }
            let found: Vec<_> = Found::in_a_row(cut, LIMIT).collect();
            assert_eq!(found.len(), usize::from(length > 0), "{}: {length} bytes", file.display());
            assert!(found.iter().all(Result::is_err));
        }
    }
}

#[test]
fn limits() {
    let plain = hip_bundle(&[some_bytes(1, 100_000)]);
    for options in every_option() {
        let whole = compress(&plain, &options).unwrap();
        let bundle = CompressedBundle::parse(&whole).unwrap();
        let size = plain.len() as u64;
        assert_eq!(bundle.decompress(size).unwrap().len(), plain.len());
        let limit = |limit| ErrorKind::LimitExceeded { need: size, limit };
        assert_eq!(bundle.decompress(size - 1).unwrap_err().kind(), limit(size - 1));
        assert!(bundle.entry_table(100).is_err());
    }
    let kind = |whole: &[u8], limit| {
        CompressedBundle::parse(whole).unwrap().decompress(limit).unwrap_err().kind()
    };
    // The header claims 2^62 bytes.
    let mut whole = compress(&plain, &CompressOptions::default()).unwrap();
    set(&mut whole, 16, 1 << 62);
    assert!(matches!(kind(&whole, u64::MAX), ErrorKind::LimitExceeded { .. }));
    // The header claims too few bytes.
    set(&mut whole, 16, 10);
    assert!(matches!(kind(&whole, LIMIT), ErrorKind::Compression { .. }));
    // A text bundle has no table.
    let text = corpus_file("compressed/text.ii.ccob");
    let table = CompressedBundle::parse(&text).unwrap().entry_table(LIMIT);
    assert_eq!(table.unwrap_err().kind(), ErrorKind::BadMagic);
}

/// Tests a bundle with a code object over 4 GiB. The code object consists almost entirely of zeros,
/// which zstd compresses well.
#[test(NOTHING.slow())]
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
    assert_eq!(bundle.uncompressed_size, layout.size());
    let table = bundle.entry_table(1 << 28).unwrap();
    let entries: Vec<_> = EntryTable::parse(&table).unwrap().entries().collect();
    assert_eq!((entries[1].size, entries[2].offset), (size, second));
    // To read the last seven bytes, the decoder keeps only its window and these bytes in memory,
    // not the whole bundle.
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

//! Tests ROCm's kernel packs field by field, and malicious packs. ROCm's packer wrote the files in
//! the corpus. The requirements come from the tests of ROCm's reader
//! (`runtime/tests/test_kpack_api.cpp`, `test_loader_api.cpp`, 2026).

use offload_format::ErrorKind;
use offload_format::inventory::{ContainerKind, Images, Inventory};
use offload_format::kpack::{Kpack, KpackManifest, KpackReference, MAGIC, is_binary_of};
use offload_tests::containers::archive;
use offload_tests::prelude::*;

/// Tests fields that the corpus's dumps do not contain.
#[test]
fn what_the_packer_wrote() {
    for (file, is_compressed) in [("none.kpack", false), ("zstd.kpack", true)] {
        let bytes = corpus_file(&format!("kpack/{file}"));
        let kpack = Kpack::parse(&bytes).unwrap();
        assert_eq!(kpack.family, "gfx9");
        assert_eq!(kpack.targets(), ["gfx906", "gfx90a:xnack-"]);
        for kernel in kpack.kernels() {
            assert_eq!((kernel.kind, kernel.is_compressed), ("hsaco", is_compressed));
            assert!(bytes[kernel.offset as usize..].starts_with(kernel.stored));
        }
    }
}

#[test]
fn references_and_manifests() {
    // Incomplete references and invalid values are errors. `with_more` below is unusual but valid:
    // the search paths come before the kernel name, an unknown key is skipped, and bytes follow the
    // end.
    for bytes in [
        &b"\x82\xaekpack_unknown_\x91\xc0\xabkernel_name\xa1a"[..],
        b"\x81\xabkernel_name\xa1a",
        b"\x82\xabkernel_name\xa1a\xb2kpack_search_paths\x90",
        b"\x82\xabkernel_name\x01\xb2kpack_search_paths\x91\xa1p",
        b"\x81\xb2kpack_search_paths\x91\xa1p",
        b"\x82\xabkernel_name\xa1a",
        b"\x90",
        b"",
    ] {
        assert!(KpackReference::parse(bytes).is_err(), "{}", bytes.escape_ascii());
    }
    let with_more =
        b"\x83\xb2kpack_search_paths\x93\xa1p\xc0\xa1q\xa1x\x81\x01\x02\xabkernel_name\xa1a\0\0\0";
    let reference = KpackReference::parse(with_more).unwrap();
    assert_eq!((reference.kernel_name, reference.search_paths), ("a", vec!["p", "q"]));

    let with_paths = |count: u8| {
        let start = b"\x82\xabkernel_name\xa1a\xb2kpack_search_paths\xdc\0";
        [&start[..], &[count], &b"\xa1x".repeat(count.into())].concat()
    };
    assert_eq!(KpackReference::parse(&with_paths(64)).unwrap().search_paths.len(), 64);
    assert!(KpackReference::parse(&with_paths(65)).is_err());

    let bytes = corpus_file("kpack/demo.kpm");
    let manifest = KpackManifest::parse(&bytes).unwrap();
    let files = manifest.files.iter().map(|it| (it.target, it.file, it.size, it.kernels));
    assert_eq!(manifest.component, "demo");
    assert!(files.eq([
        ("gfx906", "demo_gfx906.kpack", 2689, 2),
        ("gfx1100", "demo_gfx1100.kpack", 2701, 2)
    ]));
    for name in ["a/b", "..", ".", "/a", "a\\b"] {
        let start = b"\x81\xabkpack_files\x81\xa1t\x81\xa4file";
        let bytes = [&start[..], &[0xa0 | name.len() as u8], name.as_bytes()].concat();
        assert!(KpackManifest::parse(&bytes).is_err(), "{name}");
    }
}

#[test]
fn many_references_end_somewhere() {
    let library = corpus_file("kpack/libk.so");
    let archive = archive(&[("libk.so", &library[..]); 18]);
    let inventory = Inventory::of(&archive, 1 << 30);
    assert_eq!((inventory.references.len(), inventory.problems.len()), (16, 2));
}

/// Returns a pack with 48 zeros at offset 16, followed by this table.
fn with_table(table: &[u8]) -> Vec<u8> {
    let header = [&MAGIC[..], &1_u32.to_le_bytes(), &64_u64.to_le_bytes(), &[0; 48]];
    [&header.concat()[..], table].concat()
}

#[test]
fn headers_that_are_wrong() {
    let good = corpus_file("kpack/none.kpack");
    let kind = |bytes: &[u8]| Kpack::parse(bytes).map(|_| ()).unwrap_err().kind();
    let with = |at: usize, value: &[u8]| patched(&good, at, value);
    assert_eq!(kind(b"XXXX"), ErrorKind::BadMagic);
    assert_eq!(kind(b""), ErrorKind::BadMagic);
    assert_eq!(kind(&with(4, &[2])), ErrorKind::UnsupportedVersion { version: 2 });
    for size in [4, 7, 8, 15] {
        assert!(matches!(kind(&good[..size]), ErrorKind::Truncated { .. }), "{size}");
    }
    for offset in [good.len() as u64, good.len() as u64 + 1, 1 << 40, u64::MAX] {
        assert!(Kpack::parse(&with(8, &offset.to_le_bytes())).is_err(), "{offset}");
    }
    // Truncate the file in steps of 7 bytes.
    for size in (16..good.len()).step_by(7) {
        assert!(Kpack::parse(&good[..size]).is_err(), "{size}");
    }
}

/// Returns a pack with this many pairs in its table.
fn with_pairs(count: u8, pairs: &[u8]) -> Vec<u8> {
    with_table(&[&[0x80 | count], pairs].concat())
}

/// Returns a pack of compressed kernels. `offset` and `size` are the encoded offset and size of its
/// streams.
fn with_streams(offset: &[u8], size: u8) -> Vec<u8> {
    let pairs = b"\xb2compression_scheme\xafzstd-per-kernel\xabzstd_offset";
    with_pairs(3, &[&pairs[..], offset, b"\xa9zstd_size", &[size]].concat())
}

#[test]
fn tables_that_are_wrong() {
    let blobs =
        |blobs: &[u8]| with_pairs(2, &[b"\xb2compression_scheme\xa4none\xa5blobs", blobs].concat());
    for (what, bytes) in [
        ("an unknown scheme", with_pairs(1, b"\xb2compression_scheme\xa4lzma")),
        ("no scheme", with_pairs(1, b"\xa3toc\x80")),
        ("no blobs", with_pairs(1, b"\xb2compression_scheme\xa4none")),
        ("no streams", with_pairs(1, b"\xb2compression_scheme\xafzstd-per-kernel")),
        ("a blob outside", blobs(b"\x91\x82\xa6offset\x00\xa4size\xce\x00\xff\xff\xff")),
        ("blobs without end", blobs(b"\xdd\xff\xff\xff\xff")),
        ("streams outside", with_streams(b"\xcd\xff\xff", 4)),
        ("streams that overflow", with_streams(b"\xcf\xff\xff\xff\xff\xff\xff\xff\xff", 4)),
        ("no map", with_table(b"\x90")),
        ("another version", with_pairs(1, b"\xaeformat_version\x02")),
    ] {
        assert!(Kpack::parse(&bytes).is_err(), "{what}");
    }
    // The number of streams is at offset 16: first 0, then far more streams than exist.
    let mut bytes = with_streams(b"\x10", 0x30);
    assert_eq!(Kpack::parse(&bytes).unwrap().kernels().len(), 0);
    bytes[16..20].fill(0xff);
    assert!(Kpack::parse(&bytes).is_err(), "millions of streams in 48 bytes");
}

#[test]
fn kernels_that_are_wrong() {
    let kernel = |fields: &[u8]| {
        let pairs = b"\xb2compression_scheme\xa4none\xa5blobs\x91\x82\xa6offset\x10\xa4size\x08\xa3toc\x81\xa1b\x81\xa1t";
        with_pairs(3, &[&pairs[..], fields].concat())
    };
    assert_eq!(Kpack::parse(&kernel(b"\x81\xa7ordinal\x00")).unwrap().kernels()[0].size, 8);
    for (what, fields) in [
        ("no ordinal", &b"\x80"[..]),
        ("no such blob", b"\x81\xa7ordinal\x01"),
        ("a great ordinal", b"\x81\xa7ordinal\xcf\xff\xff\xff\xff\xff\xff\xff\xff"),
        ("no number", b"\x81\xa7ordinal\xa10"),
        ("no map", b"\x90"),
    ] {
        let bytes = kernel(fields);
        let error = Kpack::parse(&bytes).unwrap_err();
        assert_eq!(error.entry(), Some(0), "{what}: {error}");
    }
}

/// The code objects of a few targets may share their bytes, but not those of hundreds.
#[test]
fn kernels_that_share_their_bytes() {
    let pack = |count: u8| {
        let start = b"\x83\xb2compression_scheme\xa4none\xa5blobs\x91\x82\xa6offset\x10\xa4size\xcd\x0f\xa0\xa3toc\x81\xa1b\xde\0";
        let kernels = b"\xa1t\x81\xa7ordinal\0".repeat(count.into());
        let header = [&MAGIC[..], &1_u32.to_le_bytes(), &4016_u64.to_le_bytes(), &[0; 4000]];
        [&header.concat(), &start[..], &[count], &kernels].concat()
    };
    assert_eq!(Kpack::parse(&pack(8)).unwrap().kernels()[7].stored.len(), 4000);
    let error = Kpack::parse(&pack(200)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Malformed, "{error}");
}

/// Tests that the reader observes the limit, and detects wrong sizes in a table.
#[test]
fn limits() {
    let bytes = corpus_file("kpack/zstd.kpack");
    let kpack = Kpack::parse(&bytes).unwrap();
    let kernel = kpack.kernels()[0];
    let error = kernel.read(kernel.size - 1).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::LimitExceeded { .. }), "{error}");
    // Replace the kernel's size in the table with a smaller or larger one.
    let at = bytes.windows(14).position(|window| window == b"original_size\xcd").unwrap() + 14;
    for size in [kernel.size - 1, kernel.size + 1, 0xffff] {
        let mut wrong = bytes.clone();
        wrong[at..at + 2].copy_from_slice(&(size as u16).to_be_bytes());
        let kpack = Kpack::parse(&wrong).unwrap();
        assert_eq!(kpack.kernels()[0].size, size);
        assert!(kpack.kernels()[0].read(1 << 20).is_err(), "{size}");
    }
}

#[test]
fn kernels_of_one_binary() {
    let bytes = corpus_file("kpack/zstd.kpack");
    let mut inventory = Inventory::of(&bytes, 1 << 20);
    assert_eq!((inventory.containers[0].kind, inventory.images.len()), (ContainerKind::Kpack, 3));
    inventory.retain_entries(|entry| is_binary_of(entry, "lib/k.dl"));
    assert_eq!(inventory.images.len(), 0, "the beginning of a name is another name");
    let mut inventory = Inventory::of(&bytes, 1 << 20);
    inventory.retain_entries(|entry| is_binary_of(entry, "lib/libk.so"));
    let targets = inventory.images.iter().map(|image| image.target_id.as_deref());
    assert!(targets.eq([Some("gfx906"), Some("gfx90a:xnack-")]));
    assert_eq!(inventory.containers[0].images, 0..2);
    let mut images = Images::new(1 << 20);
    assert!(images.read(&inventory.images[1]).unwrap().starts_with(b"\x7fELF"));
}

//! Several compressed and uncompressed bundles in one section, compared with LLVM 22's
//! `llvm-objdump`. Also tests the end of each bundle.

use super::{LIMIT, TARGETS, every_option, hip_bundle};
use offload_format::ErrorKind;
use offload_format::bundle::{self, Bundle, EntryTable, HIP_ENTRY_PREFIX};
use offload_format::compressed::{
    Bundles, CompressOptions, CompressedBundle, Found, MAGIC, compress, hash,
};
use offload_format::compression::Method;
use offload_tests::data::{Random, assert_same_bytes, read, some_bytes};
use offload_tests::registry::{LLVM, NOTHING};
use offload_tests::scratch;
use offload_tests::tools::{llvm, stdout, succeed};

offload_tests::tests! {
    LLVM => [several_in_a_row],
    NOTHING => [the_end_is_where_the_size_says],
}

/// Returns the bundles of a section: the offset and decompressed content of each.
fn all(section: &[u8]) -> Vec<(u64, Vec<u8>)> {
    let read = |found| match found {
        Found::Plain(bundle) => {
            let entries: Vec<_> =
                bundle.entries().flat_map(|entry| entry.code_object().to_vec()).collect();
            entries
        }
        Found::Compressed(compressed) => {
            let plain = compressed.decompress(LIMIT).unwrap();
            Bundle::parse(&plain)
                .unwrap()
                .entries()
                .flat_map(|entry| entry.code_object().to_vec())
                .collect()
        }
    };
    let found = Bundles::new(section, LIMIT).map(|item| item.unwrap());
    found.map(|(offset, found)| (offset, read(found))).collect()
}

/// Returns a version 1 header and the stream, as LLVM 18 wrote it.
fn version_1(plain: &[u8], method: Method) -> Vec<u8> {
    let mut options = CompressOptions::default();
    options.method = method;
    let payload = compress(plain, &options).unwrap().split_off(32);
    let mut out = MAGIC.to_vec();
    out.extend_from_slice(&1u16.to_le_bytes());
    out.extend_from_slice(&method.number().to_le_bytes());
    out.extend_from_slice(&(plain.len() as u32).to_le_bytes());
    out.extend_from_slice(&hash(plain).to_le_bytes());
    out.extend_from_slice(&payload);
    out
}

fn several_in_a_row() {
    let folder = scratch::folder("compressed-row");
    let payloads = [
        // Payloads that look like the next container.
        [&MAGIC[..], b"\x03\0\x01\0 no bundle"].concat(),
        [&bundle::MAGIC[..], b"\x01\0\0\0\0\0\0\0 no bundle"].concat(),
        some_bytes(4, 5000),
    ];
    let mut kinds: Vec<Vec<u8>> = Vec::new();
    for payload in &payloads {
        let plain = hip_bundle(std::slice::from_ref(payload));
        kinds.extend(every_option().iter().map(|options| compress(&plain, options).unwrap()));
        kinds.extend([Method::Zlib, Method::Zstd].map(|method| version_1(&plain, method)));
        kinds.push(plain);
    }
    let contents: Vec<Vec<u8>> = kinds.iter().map(|one| all(one).remove(0).1).collect();
    let mut random = Random::new(11);
    for align in [1, 8, 4096] {
        let mut order: Vec<usize> = (0..kinds.len()).collect();
        random.shuffle(&mut order);
        let mut section = vec![0; align * 2];
        let mut expected = Vec::new();
        for &kind in &order {
            section.resize(section.len().next_multiple_of(align), 0);
            expected.push((section.len() as u64, contents[kind].clone()));
            section.extend_from_slice(&kinds[kind]);
        }
        section.resize(section.len() + 77, 0);
        assert_eq!(all(&section), expected, "align {align}");
    }

    // Bundles of one kind in a row, which llvm-objdump extracts from a linked program's section.
    for method in [None, Some(Method::Zstd)] {
        let mut section = Vec::new();
        for payload in &payloads[2..] {
            let plain = hip_bundle(&[payload.clone(), some_bytes(9, 100)]);
            for _ in 0..3 {
                section.resize(section.len().next_multiple_of(4096), 0);
                section.extend_from_slice(&match method {
                    Some(_) => compress(&plain, &CompressOptions::default()).unwrap(),
                    None => plain.clone(),
                });
            }
        }
        scratch::write(folder.join("section"), &section);
        // The bundles are aligned, as in a linker's output.
        let source = ".section .hip_fatbin,\"a\"\n.p2align 12\n.incbin \"section\"\n";
        scratch::write(folder.join("fat.s"), source);
        let clang = ["-c", "fat.s", "-o", "fat.o", "--target=x86_64-unknown-linux-gnu"];
        succeed(llvm("clang").current_dir(&folder).args(clang));
        let dump =
            succeed(llvm("llvm-objdump").current_dir(&folder).args(["--offloading", "fat.o"]));
        let listed =
            stdout(&dump).lines().filter(|line| line.contains("Extracting offload bundle")).count();
        let ours: usize = Bundles::new(&section, LIMIT)
            .map(|found| match found.unwrap().1 {
                Found::Plain(bundle) => bundle.entries().count(),
                Found::Compressed(bundle) => EntryTable::parse(&bundle.entry_table(LIMIT).unwrap())
                    .unwrap()
                    .entries()
                    .count(),
            })
            .sum();
        assert_eq!(listed, ours, "{method:?}\n{}", stdout(&dump));
        // For a compressed bundle, llvm-objdump 22 extracts bytes of the file itself, so only
        // uncompressed bundles are compared.
        for number in 0..if method.is_none() { 3 } else { 0 } {
            let name = format!("fat.o.{number}.{HIP_ENTRY_PREFIX}{}", TARGETS[0]);
            assert_same_bytes(&read(folder.join(name)), &payloads[2], "what llvm-objdump took out");
        }
    }
}

fn the_end_is_where_the_size_says() {
    let plain = hip_bundle(&[some_bytes(1, 100)]);
    let whole = compress(&plain, &CompressOptions::default()).unwrap();
    // Other bytes after the bundle are a separate error, reported at their own place.
    let section = [&whole[..], b"\0\0\0garbage"].concat();
    let found: Vec<_> = Bundles::new(&section, LIMIT).collect();
    assert_eq!(found.len(), 2);
    assert!(found[0].is_ok());
    let error = found[1].as_ref().unwrap_err();
    assert_eq!((error.kind(), error.offset()), (ErrorKind::BadMagic, whole.len() as u64 + 3));
    // A size of 0 means that the stream may go on to the end.
    let mut unsized_ = whole.clone();
    unsized_[8..16].fill(0);
    let bundle = CompressedBundle::parse(&unsized_).unwrap();
    assert_eq!((bundle.total_size(), bundle.find_size(LIMIT).unwrap()), (None, whole.len() as u64));
    assert_eq!(bundle.decompress(LIMIT).unwrap(), plain);
}

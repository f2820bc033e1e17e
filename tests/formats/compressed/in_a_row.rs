//! Several compressed and uncompressed bundles in one section, compared with LLVM 22's
//! `llvm-objdump`. Also tests the end of each bundle.

use super::{LIMIT, every_option, hip_bundle, ids};
use offload_format::ErrorKind;
use offload_format::bundle::{self, Bundle, EntryTable};
use offload_format::compressed::{
    Bundles, CompressOptions, CompressedBundle, Found, MAGIC, compress, hash,
};
use offload_format::compression::Method;
use offload_tests::bytes::set;
use offload_tests::prelude::*;

offload_tests::tests! {
    LLVM => [several_in_a_row],
    NOTHING => [the_end_is_where_the_size_says],
}

/// Returns the bundles of a section: the offset and the code objects of each.
fn all(section: &[u8]) -> Vec<(u64, Vec<u8>)> {
    let code = |bundle: Bundle<'_>| {
        bundle.entries().flat_map(|entry| entry.code_object().to_vec()).collect()
    };
    let read = |found| match found {
        Found::Plain(bundle) => code(bundle),
        Found::Compressed(bundle) => {
            code(Bundle::parse(&bundle.decompress(LIMIT).unwrap()).unwrap())
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
    let numbers = [1u16.to_le_bytes(), method.number().to_le_bytes()].concat();
    let size = (plain.len() as u32).to_le_bytes();
    [&MAGIC[..], &numbers, &size, &hash(plain).to_le_bytes(), &payload].concat()
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
    let plain = hip_bundle(&[payloads[2].clone(), some_bytes(9, 100)]);
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
        let ours: usize = Bundles::new(&section, LIMIT).map(|it| entries(it.unwrap().1)).sum();
        assert_eq!(listed, ours, "{dump}");
        // For a compressed bundle, llvm-objdump 22 extracts bytes of the file itself, so only
        // uncompressed bundles are compared.
        for number in 0..if is_plain { 3 } else { 0 } {
            let name = format!("fat.o.{number}.{}", ids(1)[1]);
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
    set(&mut unsized_, 8, 0);
    let bundle = CompressedBundle::parse(&unsized_).unwrap();
    assert_eq!((bundle.total_size(), bundle.find_size(LIMIT).unwrap()), (None, whole.len() as u64));
    assert_eq!(bundle.decompress(LIMIT).unwrap(), plain);
}

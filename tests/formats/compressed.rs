//! Compressed bundles beside those of LLVM 22's bundler, in a row with plain ones, and damaged.

use offload_format::ErrorKind;
use offload_format::bundle::{self, Bundle, BundleBuilder, EntryTable, HIP_ENTRY_PREFIX};
use offload_format::compressed::{Bundles, CompressOptions, CompressedBundle, Found, MAGIC, Version, compress, hash};
use offload_format::compression::Method;
use offload_tests::data::{Random, assert_same_bytes, corpus, read, some_bytes};
use offload_tests::registry::{LLVM, NOTHING};
use offload_tests::scratch;
use offload_tests::tools::{llvm, stderr, stdout, succeed};
use std::path::Path;

const LIMIT: u64 = 1 << 26;

offload_tests::tests! {
    LLVM => [
        llvm_compresses_and_we_read,
        we_compress_and_llvm_reads,
        compiled_code_gets_no_larger_than_llvms,
        several_in_a_row,
        headers_that_are_wrong,
    ],
    NOTHING => [
        the_end_is_where_the_size_says,
        what_lies_behind_is_not_looked_at,
        files_of_all_versions,
        over_4_gib,
        truncations,
        header_fields_at_their_extremes,
        limits,
    ],
}

const TARGETS: [&str; 4] = ["gfx90a", "gfx1100", "gfx942:sramecc+", "gfx9-4-generic"];

/// A HIP bundle of these code objects.
fn hip_bundle(code_objects: &[Vec<u8>]) -> Vec<u8> {
    let mut builder = BundleBuilder::hip();
    let mut payloads: Vec<&[u8]> = vec![b""];
    for (target, code_object) in TARGETS.iter().zip(code_objects) {
        builder.entry(&format!("{HIP_ENTRY_PREFIX}{target}"), code_object.len() as u64).unwrap();
        payloads.push(code_object);
    }
    builder.layout().to_vec(&payloads)
}

/// What `clang-offload-bundler` makes of the same code objects with these options and variables.
fn llvm_bundle(folder: &Path, code_objects: &[Vec<u8>], options: &[&str], variables: &[(&str, &str)]) -> Vec<u8> {
    let mut tool = llvm("clang-offload-bundler");
    tool.current_dir(folder).args(["-type=o", "-bundle-align=4096", "-input=/dev/null", "-output=theirs"]);
    tool.args(options).envs(variables.iter().copied());
    let mut targets = "-targets=host-x86_64-unknown-linux-gnu".to_owned();
    for (target, code_object) in TARGETS.iter().zip(code_objects) {
        scratch::write(folder.join(target), code_object);
        targets += &format!(",{HIP_ENTRY_PREFIX}{target}");
        tool.arg(format!("-input={target}"));
    }
    succeed(tool.arg(targets));
    read(folder.join("theirs"))
}

/// Code objects of several sizes, alike and not.
fn samples() -> Vec<Vec<Vec<u8>>> {
    let mut random = Random::new(5);
    let mut samples = vec![
        vec![],
        vec![vec![]],
        vec![some_bytes(1, 1)],
        vec![some_bytes(1, 3000), some_bytes(1, 3000)],
        vec![some_bytes(1, 100_000), some_bytes(2, 5), vec![], some_bytes(3, 200_000)],
    ];
    samples.push(vec![random.bytes(70_000), random.bytes(10)]);
    // Bytes that do not repeat, or that repeat those before at some distance.
    for _ in 0..10 {
        let mut code_objects: Vec<Vec<u8>> = Vec::new();
        for _ in 0..1 + random.below(TARGETS.len()) {
            let longest = 1 << (4 + random.below(14));
            let size = random.below(longest);
            let mut code_object = random.bytes(size);
            if let Some(before) = code_objects.last()
                && random.below(2) == 0
            {
                code_object.extend_from_slice(&before[random.below(before.len() + 1)..]);
            }
            code_objects.push(code_object);
        }
        samples.push(code_objects);
    }
    samples
}

fn llvm_compresses_and_we_read() {
    let folder = scratch::folder("compressed-llvm");
    for code_objects in samples() {
        let plain = hip_bundle(&code_objects);
        assert_same_bytes(&plain, &llvm_bundle(&folder, &code_objects, &[], &[]), "plain");
        for (version, level) in [(3, None), (2, None), (3, Some("1")), (3, Some("19")), (2, Some("9"))] {
            let mut options = vec!["-compress".to_owned()];
            options.extend(level.map(|level| format!("-compression-level={level}")));
            let options: Vec<&str> = options.iter().map(String::as_str).collect();
            let number = version.to_string();
            let theirs =
                llvm_bundle(&folder, &code_objects, &options, &[("COMPRESSED_BUNDLE_FORMAT_VERSION", &number)]);
            let bundle = CompressedBundle::parse(&theirs).unwrap();
            assert_eq!((bundle.version(), bundle.method()), (version, Some(Method::Zstd)));
            assert_eq!(bundle.total_size(), Some(theirs.len() as u64));
            assert_eq!(bundle.uncompressed_size(), plain.len() as u64);
            assert_same_bytes(&bundle.decompress(LIMIT).unwrap(), &plain, "decompressed");
            assert_eq!(bundle.hash(), hash(&plain));

            let table = bundle.entry_table(LIMIT).unwrap();
            assert_eq!(table, plain[..table.len()]);
            let table = EntryTable::parse(&table).unwrap();
            assert_eq!(table.entries().count(), code_objects.len() + 1);
            for (entry, code_object) in table.entries().skip(1).zip(&code_objects) {
                assert_eq!(&bundle.code_object(&entry, LIMIT).unwrap(), code_object);
            }
        }
    }
}

fn every_option() -> Vec<CompressOptions> {
    let mut all = Vec::new();
    for version in [Version::V2, Version::V3] {
        for method in [Method::Zlib, Method::Zstd] {
            for level in [None, Some(1), Some(9)] {
                let mut options = CompressOptions::default();
                (options.version, options.method, options.level) = (version, method, level);
                all.push(options);
            }
        }
    }
    all
}

fn we_compress_and_llvm_reads() {
    let folder = scratch::folder("compressed-ours");
    for code_objects in samples() {
        let plain = hip_bundle(&code_objects);
        for options in every_option() {
            let ours = compress(&plain, &options).unwrap();
            assert_same_bytes(&CompressedBundle::parse(&ours).unwrap().decompress(LIMIT).unwrap(), &plain, "ours");
            scratch::write(folder.join("ours"), &ours);
            let mut tool = llvm("clang-offload-bundler");
            tool.current_dir(&folder).args(["-type=o", "-unbundle", "-verbose", "-input=ours"]);
            let mut targets = "-targets=host-x86_64-unknown-linux-gnu".to_owned();
            tool.arg("-output=host");
            for target in &TARGETS[..code_objects.len()] {
                targets += &format!(",{HIP_ENTRY_PREFIX}{target}");
                tool.arg(format!("-output=out-{target}"));
            }
            let said = stderr(&succeed(tool.arg(targets)));
            let method = options.method.to_string();
            let version = if options.version == Version::V2 { 2 } else { 3 };
            for line in [
                format!("Compressed bundle format version: {version}"),
                format!("Decompression method: {method}"),
                "Hashes match: Yes".to_owned(),
            ] {
                assert!(said.contains(&line), "{options:?}: no '{line}' in\n{said}");
            }
            for (target, code_object) in TARGETS.iter().zip(&code_objects) {
                assert_same_bytes(&read(folder.join(format!("out-{target}"))), code_object, target);
            }
        }
    }
}

/// On real code objects the compressed bundle has at most LLVM's size at each level.
fn compiled_code_gets_no_larger_than_llvms() {
    let folder = scratch::folder("compressed-sizes");
    let source = "__attribute__((amdgpu_kernel)) void k(float *x, int n) {\n\
                  for (int i = 0; i < n; i++) { x[i] = x[i] * x[n - i] + (float)i; x[i * 3] -= 2; } }\n";
    scratch::write(folder.join("k.c"), source);
    let code_objects: Vec<Vec<u8>> = TARGETS
        .iter()
        .map(|target| {
            let mut clang = llvm("clang");
            clang.current_dir(&folder).args(["--target=amdgcn-amd-amdhsa", "-O2", "-ffreestanding", "-nogpulib"]);
            succeed(clang.args(["-nostdlib", "k.c", "-o", "k.hsaco"]).arg(format!("-mcpu={target}")));
            read(folder.join("k.hsaco"))
        })
        .collect();
    let plain = hip_bundle(&code_objects);
    for level in ["1", "3", "9", "19"] {
        let options = ["-compress", &format!("-compression-level={level}")];
        let theirs = llvm_bundle(&folder, &code_objects, &options, &[]);
        let mut options = CompressOptions::default();
        options.level = level.parse().ok();
        let ours = compress(&plain, &options).unwrap();
        assert!(ours.len() <= theirs.len(), "level {level}: {} bytes, LLVM's {}", ours.len(), theirs.len());
    }
}

/// Each bundle of a section: its offset, and what is inside, decompressed.
fn all(section: &[u8]) -> Vec<(u64, Vec<u8>)> {
    let read = |found| match found {
        Found::Plain(bundle) => {
            let entries: Vec<_> = bundle.entries().flat_map(|entry| entry.code_object().to_vec()).collect();
            entries
        }
        Found::Compressed(compressed) => {
            let plain = compressed.decompress(LIMIT).unwrap();
            Bundle::parse(&plain).unwrap().entries().flat_map(|entry| entry.code_object().to_vec()).collect()
        }
    };
    let found = Bundles::new(section, LIMIT).map(|item| item.unwrap());
    found.map(|(offset, found)| (offset, read(found))).collect()
}

/// A version 1 header before a stream, as LLVM 18 wrote it.
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
        // Payloads that look like what comes next.
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

    // What llvm-objdump takes out of a linked program's section, bundles of one kind in a row.
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
        // Aligned, as linkers leave it.
        let source = ".section .hip_fatbin,\"a\"\n.p2align 12\n.incbin \"section\"\n";
        scratch::write(folder.join("fat.s"), source);
        let clang = ["-c", "fat.s", "-o", "fat.o", "--target=x86_64-unknown-linux-gnu"];
        succeed(llvm("clang").current_dir(&folder).args(clang));
        let dump = succeed(llvm("llvm-objdump").current_dir(&folder).args(["--offloading", "fat.o"]));
        let listed = stdout(&dump).lines().filter(|line| line.contains("Extracting offload bundle")).count();
        let ours: usize = Bundles::new(&section, LIMIT)
            .map(|found| match found.unwrap().1 {
                Found::Plain(bundle) => bundle.entries().count(),
                Found::Compressed(bundle) => {
                    EntryTable::parse(&bundle.entry_table(LIMIT).unwrap()).unwrap().entries().count()
                }
            })
            .sum();
        assert_eq!(listed, ours, "{method:?}\n{}", stdout(&dump));
        // Of a compressed one, llvm-objdump 22 takes out bytes of the file itself.
        for number in 0..if method.is_none() { 3 } else { 0 } {
            let name = format!("fat.o.{number}.{HIP_ENTRY_PREFIX}{}", TARGETS[0]);
            assert_same_bytes(&read(folder.join(name)), &payloads[2], "what llvm-objdump took out");
        }
    }
}

fn the_end_is_where_the_size_says() {
    let plain = hip_bundle(&[some_bytes(1, 100)]);
    let whole = compress(&plain, &CompressOptions::default()).unwrap();
    // Other bytes behind it are an error of theirs, at their place.
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

/// What in a header may be wrong for LLVM, and for us.
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
        // It does not look at it.
        (TOTAL, total + 1, true, false),
        (TOTAL, total - 1, true, false),
    ] {
        let mut changed = good.clone();
        changed[at..at + 8].copy_from_slice(&value.to_le_bytes());
        let found = CompressedBundle::parse(&changed).and_then(|bundle| bundle.decompress(LIMIT));
        assert_eq!(found.as_ref().is_ok_and(|found| *found == plain), for_us, "{value} at {at}: {found:?}");
        scratch::write(folder.join("changed"), &changed);
        let mut tool = llvm("clang-offload-bundler");
        tool.current_dir(&folder).args(["-type=o", "-unbundle", "-input=changed", "-output=out"]);
        let output = tool.arg(format!("-targets={HIP_ENTRY_PREFIX}{}", TARGETS[0])).output().unwrap();
        assert_eq!(output.status.success(), for_llvm, "{value} at {at}: {output:?}");
        if for_llvm {
            assert_same_bytes(&read(folder.join("out")), &code_object, "LLVM's");
        }
    }
    // A method that nobody knows: listed, and not opened.
    let mut changed = good.clone();
    changed[6] = 2;
    let bundle = CompressedBundle::parse(&changed).unwrap();
    assert_eq!((bundle.method(), bundle.method_number()), (None, 2));
    assert_eq!(bundle.decompress(LIMIT).unwrap_err().kind(), ErrorKind::UnsupportedCompression { method: 2 });
    for version in [0, 4] {
        changed[4] = version;
        let kind = CompressedBundle::parse(&changed).unwrap_err().kind();
        assert_eq!(kind, ErrorKind::UnsupportedVersion { version: version.into() });
    }
}

/// The table, and a code object near the start, are had from a stream that ends early.
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

/// Files of LLVM 22, and some put together by hand: versions that it does not write.
fn files_of_all_versions() {
    let plain = read(scratch::workspace().join("tests/corpus/compressed/plain.bc"));
    let mut seen = Vec::new();
    for file in corpus("compressed") {
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        let bytes = read(&file);
        if !name.ends_with(".ccob") {
            continue;
        }
        let bundle = CompressedBundle::parse(&bytes).unwrap_or_else(|error| panic!("{name}: {error}"));
        let inside = bundle.decompress(LIMIT).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(hash(&inside), bundle.hash(), "{name}");
        if name == "text.ii.ccob" {
            assert!(inside.starts_with(b"\n// __CLANG_OFFLOAD_BUNDLE____START__"));
            assert_eq!(bundle.entry_table(LIMIT).unwrap_err().kind(), ErrorKind::BadMagic);
        } else {
            assert_same_bytes(&inside, &plain, &name);
        }
        seen.push((bundle.version(), bundle.method_number()));
    }
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen, [(1, 0), (1, 1), (2, 0), (2, 1), (3, 0), (3, 1)]);
}

/// A bundle with a code object of over 4 GiB, nearly all of it zeros, which zstd folds together.
fn over_4_gib() {
    let size = (1u64 << 32) + 5;
    let mut builder = BundleBuilder::hip();
    builder.entry(&format!("{HIP_ENTRY_PREFIX}gfx90a"), size).unwrap();
    builder.entry(&format!("{HIP_ENTRY_PREFIX}gfx942"), 7).unwrap();
    let layout = builder.layout();
    let (first, second) = (layout.offset_of(1).unwrap(), layout.offset_of(2).unwrap());
    let mut plain = vec![0u8; layout.size() as usize];
    let head = layout.pieces().first().expect("the table comes first");
    if let offload_format::layout::Piece::Bytes(bytes) = head {
        plain[..bytes.len()].copy_from_slice(bytes);
    }
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
    // The decoder keeps a window and the seven bytes.
    assert_eq!(bundle.code_object(&entries[2], 1 << 28).unwrap(), b"seventh");
    assert!(matches!(bundle.code_object(&entries[2], 1 << 20).unwrap_err().kind(), ErrorKind::LimitExceeded { .. }));
    let limit = ErrorKind::LimitExceeded { need: size, limit: 1 << 28 };
    assert_eq!(bundle.code_object(&entries[1], 1 << 28).unwrap_err().kind(), limit);
    drop(plain);

    options.version = Version::V2;
    let error = compress(&vec![0; (1 << 32) + 1], &options).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::LimitExceeded { need: (1 << 32) + 1, limit: u32::MAX.into() });
}

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
                Err(error) => {
                    let kind = error.kind();
                    assert!(matches!(kind, ErrorKind::Truncated { .. } | ErrorKind::OutOfBounds { .. }), "{error}");
                }
                // Without a size in the header the stream says it.
                Ok(bundle) => {
                    assert_eq!(bundle.version(), 1, "{}: {length} bytes", file.display());
                    assert!(bundle.decompress(LIMIT).is_err() && bundle.find_size(LIMIT).is_err());
                }
            }
            let found: Vec<_> = Bundles::new(cut, LIMIT).collect();
            assert_eq!(found.len(), usize::from(length > 0), "{}: {length} bytes", file.display());
            assert!(found.iter().all(Result::is_err));
        }
    }
}

fn header_fields_at_their_extremes() {
    for file in corpus("compressed") {
        let bytes = read(&file);
        let mut values = 0;
        for at in 0..bytes.len().min(40) {
            for width in [1, 2, 4, 8] {
                for value in [0, 1, 2, 0x7f, 0xff, 0xffff, u64::from(u32::MAX), bytes.len() as u64, 1 << 62, u64::MAX] {
                    let mut changed = bytes.clone();
                    changed[at..at + width].copy_from_slice(&value.to_le_bytes()[..width]);
                    let _ = Bundles::new(&changed, LIMIT).count();
                    if let Ok(bundle) = CompressedBundle::parse(&changed) {
                        values += usize::from(bundle.decompress(1 << 16).is_ok_and(|plain| plain.len() <= 1 << 16));
                        if let Ok(table) = bundle.entry_table(1 << 16) {
                            for entry in EntryTable::parse(&table).unwrap().entries() {
                                let _ = bundle.code_object(&entry, 1 << 16);
                            }
                        }
                    }
                }
            }
        }
        assert!(values > 0 || !bytes.starts_with(&MAGIC), "{}: nothing was still readable", file.display());
    }
}

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
    // A header that promises 2^62 bytes.
    let mut whole = compress(&plain, &CompressOptions::default()).unwrap();
    whole[16..24].copy_from_slice(&(1u64 << 62).to_le_bytes());
    let bundle = CompressedBundle::parse(&whole).unwrap();
    assert!(matches!(bundle.decompress(u64::MAX).unwrap_err().kind(), ErrorKind::LimitExceeded { .. }));
    // And one that promises too little.
    whole[16..24].copy_from_slice(&10u64.to_le_bytes());
    let bundle = CompressedBundle::parse(&whole).unwrap();
    assert!(matches!(bundle.decompress(LIMIT).unwrap_err().kind(), ErrorKind::Compression { .. }));
}

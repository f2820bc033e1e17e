//! Tests that we read bundles that LLVM 22's `clang-offload-bundler` has compressed, and that it
//! reads ours.

use super::{LIMIT, TARGETS, every_option, hip_bundle, llvm_bundle};
use offload_format::bundle::{EntryTable, HIP_ENTRY_PREFIX};
use offload_format::compressed::{CompressOptions, CompressedBundle, Version, compress, hash};
use offload_format::compression::Method;
use offload_tests::data::{Random, assert_same_bytes, read, some_bytes};
use offload_tests::registry::LLVM;
use offload_tests::scratch;
use offload_tests::tools::{llvm, stderr, succeed};

offload_tests::tests! {
    LLVM => [compiled_code_gets_no_larger_than_llvms],
    LLVM.slow() => [llvm_compresses_and_we_read, we_compress_and_llvm_reads],
}

/// Returns similar and different code objects of several sizes.
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
    // The bytes are random, or repeat earlier bytes at some distance.
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
        for (version, level) in
            [(3, None), (2, None), (3, Some("1")), (3, Some("19")), (2, Some("9"))]
        {
            let mut options = vec!["-compress".to_owned()];
            options.extend(level.map(|level| format!("-compression-level={level}")));
            let options: Vec<&str> = options.iter().map(String::as_str).collect();
            let number = version.to_string();
            let theirs = llvm_bundle(
                &folder,
                &code_objects,
                &options,
                &[("COMPRESSED_BUNDLE_FORMAT_VERSION", &number)],
            );
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

fn we_compress_and_llvm_reads() {
    let folder = scratch::folder("compressed-ours");
    for code_objects in samples() {
        let plain = hip_bundle(&code_objects);
        for options in every_option() {
            let ours = compress(&plain, &options).unwrap();
            assert_same_bytes(
                &CompressedBundle::parse(&ours).unwrap().decompress(LIMIT).unwrap(),
                &plain,
                "ours",
            );
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

/// For real code objects, the compressed bundle is at most as large as LLVM's at each level.
fn compiled_code_gets_no_larger_than_llvms() {
    let folder = scratch::folder("compressed-sizes");
    let source = "__attribute__((amdgpu_kernel)) void k(float *x, int n) {\n\
                  for (int i = 0; i < n; i++) { x[i] = x[i] * x[n - i] + (float)i; x[i * 3] -= 2; } }\n";
    scratch::write(folder.join("k.c"), source);
    let code_objects: Vec<Vec<u8>> = TARGETS
        .iter()
        .map(|target| {
            let mut clang = llvm("clang");
            clang.current_dir(&folder).args([
                "--target=amdgcn-amd-amdhsa",
                "-O2",
                "-ffreestanding",
                "-nogpulib",
            ]);
            succeed(
                clang.args(["-nostdlib", "k.c", "-o", "k.hsaco"]).arg(format!("-mcpu={target}")),
            );
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
        assert!(
            ours.len() <= theirs.len(),
            "level {level}: {} bytes, LLVM's {}",
            ours.len(),
            theirs.len()
        );
    }
}

//! Tests that we read bundles compressed by LLVM 22's `clang-offload-bundler`, and that LLVM reads
//! ours.

use super::{LIMIT, TARGETS, every_option, hip_bundle, ids};
use offload_format::compressed::{CompressOptions, CompressedBundle, Version, compress, hash};
use offload_format::compression::Method;
use offload_tests::bundler::{self, bundler};
use offload_tests::prelude::*;

/// Returns lists of code objects of several sizes. Some code objects in a list are similar.
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

#[test(LLVM.slow())]
fn we_compress_and_llvm_reads() {
    let folder = scratch::folder("compressed-ours");
    for code_objects in samples() {
        let plain = hip_bundle(&code_objects);
        for options in every_option() {
            let ours = compress(&plain, &options).unwrap();
            let whole = CompressedBundle::parse(&ours).unwrap().decompress(LIMIT).unwrap();
            assert_same_bytes(&whole, &plain, "ours");
            scratch::write(folder.join("ours"), &ours);
            let ids = ids(code_objects.len());
            let mut tool = bundler(&folder, "-type=o -unbundle -verbose -input=ours");
            tool.args((0..ids.len()).map(|number| format!("-output=out{number}")));
            let said = stderr(&succeed(tool.arg(bundler::targets(&ids))));
            let version = if options.version == Version::V2 { 2 } else { 3 };
            for line in [
                format!("Compressed bundle format version: {version}"),
                format!("Decompression method: {}", options.method),
                "Hashes match: Yes".to_owned(),
            ] {
                assert!(said.contains(&line), "{options:?}: no '{line}' in\n{said}");
            }
            for (number, code_object) in code_objects.iter().enumerate() {
                let theirs = read(folder.join(format!("out{}", number + 1)));
                assert_same_bytes(&theirs, code_object, &ids[number + 1]);
            }
        }
    }
}

/// With real code objects, our compressed bundle must not be larger than LLVM's at any level, and
/// we must read LLVM's bundle.
#[test(LLVM)]
fn compiled_code_gets_no_larger_than_llvms() {
    let folder = scratch::folder("compressed-sizes");
    let source = "__attribute__((amdgpu_kernel)) void k(float *x, int n) {\n\
                  for (int i = 0; i < n; i++) { x[i] = x[i] * x[n - i] + (float)i; x[i * 3] -= 2; } }\n";
    scratch::write(folder.join("k.c"), source);
    let code_objects = TARGETS.map(|target| {
        let options =
            "--target=amdgcn-amd-amdhsa -O2 -ffreestanding -nogpulib -nostdlib k.c -o k.hsaco";
        run(llvm("clang"), &folder, &format!("{options} -mcpu={target}"));
        read(folder.join("k.hsaco"))
    });
    let plain = hip_bundle(&code_objects);
    let payloads = [Vec::new()].into_iter().chain(code_objects.iter().cloned());
    let entries: Vec<_> = ids(code_objects.len()).into_iter().zip(payloads).collect();
    for level in [1, 3, 9, 19] {
        let line = format!("-type=o -bundle-align=4096 -compress -compression-level={level}");
        let theirs = bundler::bundle(&folder, &line, &entries, "theirs");
        let bundle = CompressedBundle::parse(&theirs).unwrap();
        assert_eq!((bundle.method(), bundle.hash), (Some(Method::Zstd), hash(&plain)));
        assert_same_bytes(&bundle.decompress(LIMIT).unwrap(), &plain, "LLVM's, decompressed");
        let mut options = CompressOptions::default();
        options.level = Some(level);
        let ours = compress(&plain, &options).unwrap().len();
        assert!(ours <= theirs.len(), "level {level}: {ours} bytes, LLVM's {}", theirs.len());
    }
}

//! Where ours differs on purpose: both sides.

use super::{GFX906, GFX908, HOST, LLVM, bundler, corpus};
use libtest_mimic::Trial;
use offload_tests::side_by_side::Whose;
use offload_tests::{data, test};

pub fn tests() -> Vec<Trial> {
    vec![
        test("no_objcopy_is_needed", LLVM, no_objcopy_is_needed),
        test("several_bundles_in_one_file", LLVM, several_bundles_in_one_file),
        test("targets_without_a_vendor", LLVM, targets_without_a_vendor),
        test("a_full_disk", LLVM, a_full_disk),
        test("compressing_an_object_bundle", LLVM, compressing_an_object_bundle),
        test("an_archive_to_standard_output", LLVM, an_archive_to_standard_output),
        test("a_table_that_is_cut_short", LLVM, a_table_that_is_cut_short),
        test("damage_behind_what_is_asked_for", LLVM, damage_behind_what_is_asked_for),
        test("an_archive_that_cannot_be_written", LLVM, an_archive_that_cannot_be_written),
        test("nothing_is_left_of_what_failed", LLVM, nothing_is_left_of_what_failed),
    ]
}

fn no_objcopy_is_needed() {
    let line = format!("-type=o -targets={HOST},{GFX906} -input=h.o -input=one -output=x");
    let case = bundler(&line).file("h.o", corpus("object_bundle/host.o")).without_llvm_in_path();
    assert!(case.run(Whose::Ours).succeeded());
}

fn several_bundles_in_one_file() {
    let mut file = corpus("bundle/basic.bc");
    file.extend([0; 100]);
    file.extend(corpus("compressed/v3_zstd.ccob"));
    file.extend(corpus("compressed/v2_zstd.ccob"));
    let list = bundler("-type=bc -list -input=x").file("x", file.clone());
    let (theirs, ours) = list.both();
    let lines = |text: &[u8]| String::from_utf8_lossy(text).lines().count();
    assert_eq!((lines(&theirs.stdout), lines(&ours.stdout) > 6), (3, true));
    let text = bundler(&format!("-type=bc -unbundle -targets={GFX908} -input=x -output=y")).file("x", file);
    assert!(text.run(Whose::Ours).succeeded());
}

fn targets_without_a_vendor() {
    let line = "-type=bc -targets=openmp-amdgcn-amdhsa-gfx906:sramecc+:xnack+ -input=one -output=x";
    let (theirs, ours) = bundler(line).both();
    assert_eq!(theirs.status, ours.status);
    let rest = ours.stderr.strip_prefix(&theirs.stderr).expect("LLVM's message comes first");
    assert!(rest.contains("write 'openmp-amdgcn-amd-amdhsa--gfx906:sramecc+:xnack+'"), "{rest}");
}

fn a_full_disk() {
    let line = format!("-type=bc -targets={HOST},{GFX906} -input=host -input=one -output=/dev/full");
    let (theirs, ours) = bundler(&line).both();
    assert_eq!(theirs.stderr, "LLVM ERROR: IO failure on output stream: No space left on device\n");
    assert_eq!(ours.stderr, "clang-offload-bundler: error: '/dev/full': No space left on device\n");
    assert_eq!(theirs.status, ours.status);
}

/// LLVM compresses nothing, says so, and then writes the same object.
fn compressing_an_object_bundle() {
    let line = format!("-type=o -compress -verbose -targets={HOST},{GFX906} -input=h.o -input=one -output=x");
    let (theirs, ours) = bundler(&line).file("h.o", corpus("object_bundle/host.o")).both();
    assert!(theirs.stderr.contains("Compression ratio: inf%"), "{}", theirs.stderr);
    assert_eq!(ours.stderr, "");
    assert_eq!(ours.files, theirs.files);
}

fn an_archive_to_standard_output() {
    let line = format!("-type=a -unbundle -targets={HOST} -input=lib.a -output=-");
    let (theirs, ours) = bundler(&line).file("lib.a", corpus("archive/lib.a")).both();
    assert!(theirs.stdout.is_empty() && !ours.files.contains_key(std::path::Path::new("-")));
    assert!(ours.stdout == theirs.file("-"));
}

fn a_table_that_is_cut_short() {
    for line in ["-list".to_owned(), format!("-unbundle -targets={HOST} -allow-missing-bundles -output=y")] {
        let case = bundler(&format!("-type=bc -input=x {line}")).file("x", "__CLANG_OFFLOAD_BUNDLE__");
        let (theirs, ours) = case.both();
        assert!(theirs.succeeded());
        assert!(ours.stderr.contains("'x': bundle entry count: 8 bytes needed"), "{}", ours.stderr);
        assert!(!ours.succeeded() && ours.files.keys().all(|path| path.as_os_str() != "y"));
    }
}

fn damage_behind_what_is_asked_for() {
    let line = format!("-type=bc -compress -targets={HOST},{GFX906} -input=host -input=random -output=x");
    let random = data::Random::new(1).bytes(1 << 20);
    let mut bytes = bundler(&line).file("random", random).run(Whose::Llvm).file("x").to_vec();
    bytes.truncate(bytes.len() / 2);
    // The header's total size, so that nothing but the stream is wrong.
    let size = bytes.len() as u64;
    bytes[8..16].copy_from_slice(&size.to_le_bytes());
    // The table comes first, and no more is decompressed for it.
    let (theirs, ours) = bundler("-type=bc -list -input=x").file("x", bytes.clone()).both();
    assert!(!theirs.succeeded());
    assert_eq!(String::from_utf8_lossy(&ours.stdout), format!("{HOST}\n{GFX906}\n"));
    for line in ["-list -verbose".to_owned(), format!("-unbundle -targets={GFX906} -output=y")] {
        let (theirs, ours) = bundler(&format!("-type=bc {line} -input=x")).file("x", bytes.clone()).both();
        let fails = |text: &str| text.contains("error: Failed to decompress input: ");
        assert!(fails(&theirs.stderr) && fails(&ours.stderr), "{}{}", theirs.stderr, ours.stderr);
        assert!(ours.files.keys().all(|path| path.as_os_str() != "y"));
    }
}

fn an_archive_that_cannot_be_written() {
    let line = "-type=a -unbundle -targets=openmp-amdgcn-amd-amdhsa--gfx906 -input=lib.a -output=no/x";
    let (theirs, ours) = bundler(line).file("lib.a", corpus("archive/lib.a")).both();
    assert_eq!(theirs.stderr, "clang-offload-bundler: error: No such file or directory\n");
    assert_eq!(ours.stderr, "clang-offload-bundler: error: 'no/x': No such file or directory\n");
    assert_eq!(theirs.status, ours.status);
}

fn nothing_is_left_of_what_failed() {
    let host = b"\0asm\x01\0\0\0";
    let line = format!("-type=o -targets={HOST},{GFX906} -input=h.wasm -input=one -output=x");
    let (theirs, ours) = bundler(&line).file("h.wasm", host).both();
    assert!(!theirs.succeeded() && theirs.file("x").is_empty());
    assert!(ours.succeeded() && ours.file("x").starts_with(b"__CLANG_OFFLOAD_BUNDLE__"));
}

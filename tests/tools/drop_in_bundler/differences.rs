//! Tests of intentional differences from LLVM's tool, with the results of both tools.

use super::{GFX906, GFX908, HOST, bundler};
use crate::corpus_bytes;
use offload_format::archive::ArchiveBuilder;
use offload_format::bundle::MAGIC;
use offload_tests::data;
use offload_tests::registry::LLVM;
use offload_tests::side_by_side::{Ran, Whose};
use std::path::Path;

offload_tests::tests! {
    LLVM => [
        no_objcopy_is_needed,
        several_bundles_in_one_file,
        targets_without_a_vendor,
        a_full_disk,
        compressing_an_object_bundle,
        an_archive_to_standard_output,
        a_table_that_is_cut_short,
        damage_behind_what_is_asked_for,
        an_archive_that_cannot_be_written,
        nothing_is_left_of_what_failed,
        names_that_command_terminals,
    ],
}

fn no_objcopy_is_needed() {
    let line = format!("-type=o -targets={HOST},{GFX906} -input=h.o -input=one -output=x");
    let case =
        bundler(&line).file("h.o", corpus_bytes("object_bundle/host.o")).without_llvm_in_path();
    assert!(case.run(Whose::Ours).succeeded());
}

fn several_bundles_in_one_file() {
    let mut file = corpus_bytes("bundle/basic.bc");
    file.extend([0; 100]);
    file.extend(corpus_bytes("compressed/v3_zstd.ccob"));
    file.extend(corpus_bytes("compressed/v2_zstd.ccob"));
    let list = bundler("-type=bc -list -input=x").file("x", file.clone());
    let (theirs, ours) = list.both();
    let lines = |text: &[u8]| String::from_utf8_lossy(text).lines().count();
    assert_eq!(lines(&theirs.stdout), 3);
    assert!(lines(&ours.stdout) > 6, "{}", String::from_utf8_lossy(&ours.stdout));
    let text = bundler(&format!("-type=bc -unbundle -targets={GFX908} -input=x -output=y"))
        .file("x", file);
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
    let line =
        format!("-type=bc -targets={HOST},{GFX906} -input=host -input=one -output=/dev/full");
    let (theirs, ours) = bundler(&line).both();
    assert_eq!(theirs.stderr, "LLVM ERROR: IO failure on output stream: No space left on device\n");
    assert_eq!(ours.stderr, "clang-offload-bundler: error: '/dev/full': No space left on device\n");
    assert_eq!(theirs.status, ours.status);
}

/// Tests `-compress` for an object bundle. LLVM's tool prints that it compresses the bundle, but
/// both tools write the same object, which is not compressed.
fn compressing_an_object_bundle() {
    let line = format!(
        "-type=o -compress -verbose -targets={HOST},{GFX906} -input=h.o -input=one -output=x"
    );
    let (theirs, ours) = bundler(&line).file("h.o", corpus_bytes("object_bundle/host.o")).both();
    assert!(theirs.stderr.contains("Compression ratio: inf%"), "{}", theirs.stderr);
    assert_eq!(ours.stderr, "");
    assert_eq!(ours.files, theirs.files);
}

fn an_archive_to_standard_output() {
    let line = format!("-type=a -unbundle -targets={HOST} -input=lib.a -output=-");
    let (theirs, ours) = bundler(&line).file("lib.a", corpus_bytes("archive/lib.a")).both();
    assert_eq!(theirs.stdout, b"");
    assert!(!ours.files.contains_key(Path::new("-")), "ours writes a file");
    assert!(ours.stdout == theirs.file("-"), "another archive comes out");
}

fn a_table_that_is_cut_short() {
    for line in
        ["-list".to_owned(), format!("-unbundle -targets={HOST} -allow-missing-bundles -output=y")]
    {
        let case =
            bundler(&format!("-type=bc -input=x {line}")).file("x", "__CLANG_OFFLOAD_BUNDLE__");
        let (theirs, ours) = case.both();
        assert!(theirs.succeeded());
        assert!(ours.stderr.contains("'x': bundle entry count: 8 bytes needed"), "{}", ours.stderr);
        assert!(!ours.succeeded(), "{line}");
        assert!(!ours.files.contains_key(Path::new("y")), "{line}: an output is left");
    }
}

fn damage_behind_what_is_asked_for() {
    let line =
        format!("-type=bc -compress -targets={HOST},{GFX906} -input=host -input=random -output=x");
    let random = data::Random::new(1).bytes(1 << 20);
    let mut bytes = bundler(&line).file("random", random).run(Whose::Llvm).file("x").to_vec();
    bytes.truncate(bytes.len() / 2);
    // The header's total size is set to the length after the cut, so only the compressed stream is
    // wrong.
    let size = bytes.len() as u64;
    bytes[8..16].copy_from_slice(&size.to_le_bytes());
    // The entry table is at the start, and for the list our tool decompresses only that part. So
    // the missing end has no effect.
    let (theirs, ours) = bundler("-type=bc -list -input=x").file("x", bytes.clone()).both();
    assert!(!theirs.succeeded());
    assert_eq!(String::from_utf8_lossy(&ours.stdout), format!("{HOST}\n{GFX906}\n"));
    for line in ["-list -verbose".to_owned(), format!("-unbundle -targets={GFX906} -output=y")] {
        let (theirs, ours) =
            bundler(&format!("-type=bc {line} -input=x")).file("x", bytes.clone()).both();
        for ran in [&theirs, &ours] {
            assert!(ran.stderr.contains("error: Failed to decompress input: "), "{}", ran.stderr);
        }
        assert!(!ours.files.contains_key(Path::new("y")), "{line}: an output is left");
    }
}

fn an_archive_that_cannot_be_written() {
    let line =
        "-type=a -unbundle -targets=openmp-amdgcn-amd-amdhsa--gfx906 -input=lib.a -output=no/x";
    let (theirs, ours) = bundler(line).file("lib.a", corpus_bytes("archive/lib.a")).both();
    assert_eq!(theirs.stderr, "clang-offload-bundler: error: No such file or directory\n");
    assert_eq!(ours.stderr, "clang-offload-bundler: error: 'no/x': No such file or directory\n");
    assert_eq!(theirs.status, ours.status);
}

fn nothing_is_left_of_what_failed() {
    let host = b"\0asm\x01\0\0\0";
    let line = format!("-type=o -targets={HOST},{GFX906} -input=h.wasm -input=one -output=x");
    let (theirs, ours) = bundler(&line).file("h.wasm", host).both();
    assert!(!theirs.succeeded());
    assert_eq!(theirs.file("x"), b"");
    assert!(ours.succeeded(), "{}", ours.stderr);
    assert!(ours.file("x").starts_with(b"__CLANG_OFFLOAD_BUNDLE__"), "no bundle");
}

/// Returns a binary bundle with these entries, all empty; made by hand, since our writer refuses
/// such IDs.
fn bundle_of(ids: &[&str]) -> Vec<u8> {
    let mut bundle = MAGIC.to_vec();
    bundle.extend((ids.len() as u64).to_le_bytes());
    let table: usize = ids.iter().map(|id| 24 + id.len()).sum();
    let end = bundle.len() + table;
    for id in ids {
        [end, 0, id.len()].iter().for_each(|number| bundle.extend((*number as u64).to_le_bytes()));
        bundle.extend(id.bytes());
    }
    bundle
}

/// LLVM's tool prints names from files unchanged, including control sequences of terminals.
fn names_that_command_terminals() {
    const RED: &str = "\u{1b}[31mred";
    let mut raw = 0;
    let bad_entry = bundle_of(&[&format!("hip-amdgcn-amd-amdhsa--gfx906:{RED}")]);
    let conflict = ["xnack+", "sramecc+"].map(|feature| format!("{GFX906}:{feature}"));
    let conflict = bundle_of(&[&conflict[0], &conflict[1]]);
    let archive = |bytes: &[u8]| {
        let mut builder = ArchiveBuilder::new();
        builder.member(RED, bytes.len() as u64).expect("a member");
        builder.layout().to_vec(&[bytes])
    };
    for (line, file) in [
        ("-type=bc -list -input=x", bad_entry.clone()),
        (&format!("-type=bc -unbundle -input=x -output=y -targets={GFX906}"), bundle_of(&[RED])),
        (
            &format!(
                "-type=bc -unbundle -debug-only=CodeObjectCompatibility -input=x -output=y -targets={GFX906}"
            ),
            bad_entry,
        ),
        (
            &format!("-type=a -unbundle -input=x -output=y -targets={GFX906}"),
            archive(&corpus_bytes("malformed/oob_first.bc")),
        ),
        (
            &format!("-type=a -unbundle -check-input-archive -input=x -output=y -targets={GFX906}"),
            archive(&conflict),
        ),
    ] {
        let (theirs, ours) = bundler(line).file("x", file).both();
        let printed = |ran: &Ran| format!("{}{}", String::from_utf8_lossy(&ran.stdout), ran.stderr);
        raw += usize::from(printed(&theirs).contains(RED));
        let bad = printed(&ours).chars().find(|c| c.is_control() && !"\n\t".contains(*c));
        assert_eq!(bad, None, "{line}: {}", printed(&ours));
        assert!(printed(&ours).contains("\\x1b[31mred"), "{line}: {}", printed(&ours));
    }
    assert!(raw >= 2, "LLVM prints {raw} as they are");
}

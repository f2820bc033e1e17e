//! Tests of intentional differences from LLVM's tool, with the results of both tools.

use super::archives::lib;
use super::{GFX906, HOST, bundler, reading, written};
use crate::containers::{archive, shared_bundle, with};
use offload_tests::prelude::*;
use offload_tests::side_by_side::{Case, Ran, Whose};

const BUNDLE: &str = "-targets=HOST,GFX906 -input=one -output=x";

/// Checks that both tools fail with the same status but with different messages.
fn assert_messages(case: &Case, theirs: &str, ours: &str) {
    let (their_run, our_run) = case.both();
    assert_eq!((their_run.stderr.as_str(), our_run.stderr.as_str()), (theirs, ours));
    assert_eq!(their_run.status, our_run.status);
}

#[test(LLVM)]
fn no_objcopy_is_needed() {
    let case = bundler(&format!("-type=o -input=h.o {BUNDLE}"));
    case.file("h.o", corpus_file("object_bundle/host.o")).ours_alone().success();
}

#[test(LLVM)]
fn several_bundles_in_one_file() {
    let file = [
        corpus_file("bundle/basic.bc"),
        vec![0; 100],
        corpus_file("compressed/v3_zstd.ccob"),
        corpus_file("compressed/v2_zstd.ccob"),
    ];
    let (theirs, ours) = reading(file.concat(), "-type=bc -list").both();
    assert_eq!(theirs.printed().lines().count(), 3);
    assert!(ours.printed().lines().count() > 6, "{}", ours.printed());
    // Each bundle has an entry for the target, and the first one is written.
    let line = "-type=bc -unbundle -targets=GFX908 -output=y";
    assert_eq!(reading(file.concat(), line).run(Whose::Ours).success().stderr, "");
    let line = format!("{line} -debug-only=CodeObjectCompatibility");
    let stderr = reading(file.concat(), &line).run(Whose::Ours).success().stderr;
    let further = stderr.lines().filter(|line| line.starts_with("Not written: 'hip-amdgcn"));
    assert_eq!(further.count(), 2, "{stderr}");
}

#[test(LLVM)]
fn linked_inputs_without_a_host() {
    let case = bundler("-type=o -targets=GFX906,GFX908 -input=one -input=two -output=x");
    let linked = corpus_file("image/saxpy.gfx90a.hsaco");
    let ours = case.file("one", linked.clone()).file("two", linked).run(Whose::Ours);
    let ours = ours.failure("begin with -targets=host-x86_64-unknown-linux-gnu-");
    assert!(ours.stderr.contains("or use 'cargo offload bundle'"), "{}", ours.stderr);
}

#[test(LLVM)]
fn targets_without_a_vendor() {
    let line = "-type=bc -targets=openmp-amdgcn-amdhsa-gfx906:sramecc+:xnack+ -input=one -output=x";
    let (theirs, ours) = bundler(line).both();
    assert_eq!(theirs.status, ours.status);
    let rest = ours.stderr.strip_prefix(&theirs.stderr).expect("LLVM's message comes first");
    assert!(rest.contains("write 'openmp-amdgcn-amd-amdhsa--gfx906:sramecc+:xnack+'"), "{rest}");
}

#[test(LLVM)]
fn a_full_disk() {
    assert_messages(
        &bundler("-type=bc -targets=HOST,GFX906 -input=host -input=one -output=/dev/full"),
        "LLVM ERROR: IO failure on output stream: No space left on device\n",
        "clang-offload-bundler: error: '/dev/full': No space left on device\n",
    );
}

/// Tests `-compress` for an object bundle. LLVM's tool claims to compress the bundle, but both
/// tools write the same uncompressed object.
#[test(LLVM)]
fn compressing_an_object_bundle() {
    let case = bundler(&format!("-type=o -compress -verbose -input=h.o {BUNDLE}"));
    let (theirs, ours) = case.file("h.o", corpus_file("object_bundle/host.o")).both();
    assert!(theirs.stderr.contains("Compression ratio: inf%"), "{}", theirs.stderr);
    assert_eq!(ours.stderr, "");
    assert_eq!(ours.files, theirs.files);
}

#[test(LLVM)]
fn an_archive_to_standard_output() {
    let (theirs, ours) = lib("-targets=HOST -output=-").both();
    assert_eq!(theirs.stdout, b"");
    assert!(!ours.files.contains_key(Path::new("-")), "ours writes a file");
    assert!(ours.stdout == theirs.file("-"), "another archive comes out");
}

#[test(LLVM)]
fn a_table_that_is_cut_short() {
    for line in ["-list", "-unbundle -targets=HOST -allow-missing-bundles -output=y"] {
        let case = reading("__CLANG_OFFLOAD_BUNDLE__", &format!("-type=bc {line}"));
        let (theirs, ours) = case.both();
        theirs.success();
        let ours = ours.failure("'x': bundle entry count: 8 bytes needed");
        assert!(!ours.files.contains_key(Path::new("y")), "{line}: an output is left");
    }
}

#[test(LLVM)]
fn damage_behind_what_is_asked_for() {
    let random = Random::new(1).bytes(1 << 20);
    let line = "-type=bc -compress -targets=HOST,GFX906 -input=host -input=random -output=x";
    let bundle = written(&bundler(line).file("random", random));
    // Set the header's total size to the shorter length, so only the compressed stream is wrong.
    let cut = &bundle[..bundle.len() / 2];
    let bytes = with(cut, 8, &(cut.len() as u64).to_le_bytes());
    // To list the entries, our tool decompresses only the entry table at the start, so the missing
    // end must have no effect.
    let (theirs, ours) = reading(bytes.clone(), "-type=bc -list").both();
    assert!(!theirs.succeeded());
    assert_eq!(ours.printed(), format!("{HOST}\n{GFX906}\n"));
    for line in ["-list -verbose", "-unbundle -targets=GFX906 -output=y"] {
        let (theirs, ours) = reading(bytes.clone(), &format!("-type=bc {line}")).both();
        for ran in [&theirs, &ours] {
            assert!(ran.stderr.contains("error: Failed to decompress input: "), "{}", ran.stderr);
        }
        assert!(!ours.files.contains_key(Path::new("y")), "{line}: an output is left");
    }
}

#[test(LLVM)]
fn an_archive_that_cannot_be_written() {
    assert_messages(
        &lib("-targets=OPENMPgfx906 -output=no/x"),
        "clang-offload-bundler: error: No such file or directory\n",
        "clang-offload-bundler: error: 'no/x': No such file or directory\n",
    );
}

#[test(LLVM)]
fn nothing_is_left_of_what_failed() {
    let case = bundler(&format!("-type=o -input=h.wasm {BUNDLE}"));
    let (theirs, ours) = case.file("h.wasm", b"\0asm\x01\0\0\0").both();
    assert!(!theirs.succeeded());
    assert_eq!(theirs.file("x"), b"");
    assert!(ours.success().file("x").starts_with(b"__CLANG_OFFLOAD_BUNDLE__"), "no bundle");
}

/// LLVM's tool prints names from files unchanged, including terminal control sequences.
#[test(LLVM)]
fn names_that_command_terminals() {
    const RED: &str = "\u{1b}[31mred";
    let bad_entry = shared_bundle(&[format!("{GFX906}:{RED}")], b"");
    let conflict = ["xnack+", "sramecc+"].map(|feature| format!("{GFX906}:{feature}"));
    let malformed = archive(&[(RED, &corpus_file("malformed/oob_first.bc"))]);
    let unbundle = "-unbundle -output=y -targets=GFX906 -type=";
    let mut raw = 0;
    for (line, file) in [
        ("-type=bc -list", bad_entry.clone()),
        (&format!("{unbundle}bc"), shared_bundle(&[RED], b"")),
        (&format!("{unbundle}bc -debug-only=CodeObjectCompatibility"), bad_entry),
        (&format!("{unbundle}a"), malformed),
        (
            &format!("{unbundle}a -check-input-archive"),
            archive(&[(RED, &shared_bundle(&conflict, b""))]),
        ),
    ] {
        let (theirs, ours) = reading(file, line).both();
        let [theirs, ours] = [theirs, ours].map(|ran: Ran| ran.printed() + &ran.stderr);
        raw += usize::from(theirs.contains(RED));
        let bad = ours.chars().find(|c| c.is_control() && !"\n\t".contains(*c));
        assert_eq!(bad, None, "{line}: {ours}");
        assert!(ours.contains("\\x1b[31mred"), "{line}: {ours}");
    }
    assert!(raw >= 2, "LLVM prints {raw} as they are");
}

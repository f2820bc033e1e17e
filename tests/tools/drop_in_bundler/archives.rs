//! Tests that extract libraries for one target from libraries for many.

use super::{HOST, bundler};
use crate::corpus_bytes;
use offload_tests::registry::LLVM;
use offload_tests::side_by_side::{Case, Whose};
use offload_tests::tools::{llvm, succeed};
use offload_tests::{data, scratch};

offload_tests::tests! {
    LLVM => [
        archives_for_one_target,
        archives_that_cannot_be_read,
        thin_archives,
        archives_of_compressed_members,
        archives_are_checked,
        archives_are_listed,
    ],
}

fn archive(line: &str) -> Case {
    bundler(&format!("-type=a -unbundle -input=lib.a {line}"))
        .file("lib.a", corpus_bytes("archive/lib.a"))
}

const OPENMP: &str = "openmp-amdgcn-amd-amdhsa--";

fn archives_for_one_target() {
    let lines = [
        format!("-targets={OPENMP}gfx906 -output=x"),
        format!("-targets={OPENMP}gfx906:sramecc+:xnack+ -output=x"),
        format!("-targets={OPENMP}gfx908,{OPENMP}gfx906,{HOST} -output=x -output=y -output=z"),
        "-targets=openmp-nvptx64-nvidia-cuda--sm_70 -output=x".into(),
        "-hip-openmp-compatible -targets=hip-amdgcn-amd-amdhsa--gfx906 -output=x".into(),
        "-hip-openmp-compatible -targets=hipv4-amdgcn-amd-amdhsa--gfx906:xnack+ -output=x".into(),
        format!(
            "-allow-missing-bundles -targets={OPENMP}gfx90a,{OPENMP}gfx906 -output=x -output=y"
        ),
        format!("-verbose -targets={OPENMP}gfx906 -output=x"),
    ];
    for line in lines {
        assert!(archive(&line).assert_same().succeeded(), "{line}");
    }
    let lines = [
        format!("-targets={OPENMP}gfx90a -output=x"),
        // gfx90a has no entry. The tools write the output of the target before it, and then fail.
        format!("-targets={OPENMP}gfx906,{OPENMP}gfx90a -output=x -output=y"),
        "-targets=hip-amdgcn-amd-amdhsa--gfx906 -output=x".into(),
    ];
    for line in lines {
        assert!(!archive(&line).assert_same().succeeded(), "{line}");
    }
}

fn archives_that_cannot_be_read() {
    let line = format!("-targets={OPENMP}gfx906 -output=x");
    for bytes in [&b""[..], b"short", b"some text that is no archive", b"!<arch>\n"] {
        assert!(!archive(&line).file("lib.a", bytes).assert_same().succeeded());
    }
    archive(&format!("-allow-missing-bundles {line}")).file("lib.a", "!<arch>\n").assert_same();
    bundler(&format!("-type=a -unbundle -input=missing {line}")).assert_same();
    // LLVM's message depends on the part that is malformed, so only its start is compared.
    let cut = &corpus_bytes("archive/lib.a")[..100];
    let (theirs, ours) = archive(&line).file("lib.a", cut).both();
    for ran in [&theirs, &ours] {
        let expected = "clang-offload-bundler: error: truncated or malformed archive (";
        assert!(ran.stderr.starts_with(expected), "{}", ran.stderr);
    }
    assert_eq!((theirs.status, theirs.files), (ours.status, ours.files));
}

fn thin_archives() {
    let folder = scratch::folder("drop-in-thin");
    let lib = corpus_bytes("archive/lib.a");
    let archive = offload_format::archive::Archive::parse(&lib).unwrap();
    let mut members = Vec::new();
    for member in archive.members() {
        let name = String::from_utf8_lossy(member.name()).into_owned();
        scratch::write(folder.join("sub").join(&name), member.data().unwrap());
        members.push((name, member.data().unwrap().to_vec()));
    }
    let mut make = llvm("llvm-ar");
    make.args(["rcD", "--thin", "sub/thin.a"])
        .args(members.iter().map(|(name, _)| format!("sub/{name}")));
    succeed(make.current_dir(&folder));
    let thin = data::read(folder.join("sub/thin.a"));
    let line = format!("-type=a -unbundle -targets={OPENMP}gfx906 -input=sub/thin.a -output=x");
    let mut case = bundler(&line).file("sub/thin.a", thin);
    for (name, bytes) in &members[..1] {
        case = case.file(format!("sub/{name}"), bytes.clone());
    }
    assert!(!case.assert_same().succeeded(), "a member is missing");
    for (name, bytes) in &members[1..] {
        case = case.file(format!("sub/{name}"), bytes.clone());
    }
    assert!(case.assert_same().succeeded());
}

/// Returns an archive with a bundle as its member.
fn in_archive(name: &str, bytes: &[u8]) -> Vec<u8> {
    let mut builder = offload_format::archive::ArchiveBuilder::new();
    builder.member(name, bytes.len() as u64).unwrap();
    builder.layout().to_vec(&[bytes])
}

fn archives_of_compressed_members() {
    for file in ["v2_zstd", "v3_zstd", "synthetic_v1_zlib", "synthetic_v3_zlib"] {
        let lib = in_archive("member.bc", &corpus_bytes(&format!("compressed/{file}.ccob")));
        let line = "-targets=hip-amdgcn-amd-amdhsa--gfx906 -output=x";
        assert!(archive(line).file("lib.a", lib.clone()).assert_same().succeeded(), "{file}");
    }
    // The lines about speed differ from run to run, so they are not compared.
    let lib = in_archive("member.bc", &corpus_bytes("compressed/v3_zstd.ccob"));
    let line = "-verbose -targets=hip-amdgcn-amd-amdhsa--gfx906 -output=x";
    let (theirs, ours) = archive(line).file("lib.a", lib).both();
    let without_speed = |text: &str| -> Vec<String> {
        text.lines().filter(|line| !line.contains("speed: ")).map(str::to_owned).collect()
    };
    assert_eq!(without_speed(&ours.stderr), without_speed(&theirs.stderr));
    assert_eq!((ours.status, ours.files), (theirs.status, theirs.files));
}

fn archives_are_checked() {
    let line = format!("-check-input-archive -targets={OPENMP}gfx906 -output=x");
    assert!(archive(&line).assert_same().succeeded());
    // No tool writes a bundle with conflicting IDs, so the test replaces one ID by another of the
    // same length.
    let targets = format!("{HOST},{OPENMP}gfx906:xnack+,{OPENMP}gfx908:xnack+");
    let bundle = bundler(&format!(
        "-type=bc -targets={targets} -input=host -input=one -input=two -output=x"
    ));
    let mut bundle = bundle.run(Whose::Llvm).file("x").to_vec();
    let id = b"gfx908:xnack+";
    let at = bundle.windows(id.len()).position(|window| window == id).unwrap();
    bundle[at..at + id.len()].copy_from_slice(b"gfx906:sramec");
    let at = bundle.windows(13).position(|window| window == b"gfx906:sramec").unwrap();
    bundle[at..at + 13].copy_from_slice(b"gfx906:xnac1-");
    let case = archive(&line).file("lib.a", in_archive("bad.bc", &bundle));
    let ran = case.assert_same();
    assert!(ran.stderr.contains("conflicting TargetIDs ["), "{}", ran.stderr);
}

/// Asserts that our tool lists the bundles in archives; LLVM 22 lists nothing for them.
fn archives_are_listed() {
    for line in ["-type=a -list -input=lib.a", "-type=o -list -input=lib.a"] {
        let (theirs, ours) = bundler(line).file("lib.a", corpus_bytes("archive/lib.a")).both();
        assert_eq!(
            (theirs.status, theirs.stdout, theirs.stderr),
            (ours.status, Vec::new(), ours.stderr)
        );
        let ids = String::from_utf8_lossy(&ours.stdout).into_owned();
        assert!(ids.lines().any(|id| id == format!("{OPENMP}gfx906")), "{ids}");
    }
}

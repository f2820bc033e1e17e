//! Tests that extract a library for one target from a library for many.

use super::{HOST, bundler, written};
use crate::containers;
use crate::containers::replaced;
use offload_tests::prelude::*;
use offload_tests::side_by_side::Case;

const OPENMP: &str = "openmp-amdgcn-amd-amdhsa--";

/// Returns a command line that unbundles an archive. `OPENMP` stands for the start of an entry ID.
pub fn lib(line: &str) -> Case {
    bundler(&format!("-type=a -unbundle -input=lib.a {}", line.replace("OPENMP", OPENMP)))
        .file("lib.a", corpus_file("archive/lib.a"))
}

#[test(LLVM)]
fn archives_for_one_target() {
    for line in [
        "-targets=OPENMPgfx906 -output=x",
        "-targets=OPENMPgfx906:sramecc+:xnack+ -output=x",
        "-targets=OPENMPgfx908,OPENMPgfx906,HOST -output=x -output=y -output=z",
        "-targets=openmp-nvptx64-nvidia-cuda--sm_70 -output=x",
        "-hip-openmp-compatible -targets=GFX906 -output=x",
        "-hip-openmp-compatible -targets=hipv4-amdgcn-amd-amdhsa--gfx906:xnack+ -output=x",
        "-allow-missing-bundles -targets=OPENMPgfx90a,OPENMPgfx906 -output=x -output=y",
        "-verbose -targets=OPENMPgfx906 -output=x",
    ] {
        lib(line).assert_same().success();
    }
    for line in [
        "-targets=OPENMPgfx90a -output=x",
        // gfx90a has no entry: the tools write the outputs for earlier targets, then fail.
        "-targets=OPENMPgfx906,OPENMPgfx90a -output=x -output=y",
        "-targets=GFX906 -output=x",
    ] {
        lib(line).assert_same().failure("");
    }
}

#[test(LLVM)]
fn archives_that_cannot_be_read() {
    let case = lib("-targets=OPENMPgfx906 -output=x");
    for bytes in [&b""[..], b"short", b"some text that is no archive", b"!<arch>\n"] {
        case.clone().file("lib.a", bytes).assert_same().failure("");
    }
    let allowed = lib("-allow-missing-bundles -targets=OPENMPgfx906 -output=x");
    allowed.file("lib.a", "!<arch>\n").assert_same();
    let missing = format!("-type=a -unbundle -targets={OPENMP}gfx906 -input=missing -output=x");
    bundler(&missing).assert_same();
    // LLVM's message names the malformed part, so compare only the start of the message.
    let (theirs, ours) = case.file("lib.a", &corpus_file("archive/lib.a")[..100]).both();
    for ran in [&theirs, &ours] {
        let expected = "clang-offload-bundler: error: truncated or malformed archive (";
        assert!(ran.stderr.starts_with(expected), "{}", ran.stderr);
    }
    assert_eq!((theirs.status, theirs.files), (ours.status, ours.files));
}

#[test(LLVM)]
fn thin_archives() {
    let folder = scratch::folder("drop-in-thin");
    let lib = corpus_file("archive/lib.a");
    let archive = offload_format::archive::Archive::parse(&lib).unwrap();
    let member = |member: offload_format::archive::Member<'_>| {
        let name = format!("sub/{}", String::from_utf8_lossy(member.name));
        (name, member.data.unwrap().to_vec())
    };
    let members: Vec<(String, Vec<u8>)> = archive.members().map(member).collect();
    for (name, bytes) in &members {
        scratch::write(folder.join(name), bytes);
    }
    let mut make = llvm("llvm-ar");
    make.args(["rcD", "--thin", "sub/thin.a"]).args(members.iter().map(|(name, _)| name));
    succeed(make.current_dir(&folder));
    let thin = data::read(folder.join("sub/thin.a"));
    let line = format!("-type=a -unbundle -targets={OPENMP}gfx906 -input=sub/thin.a -output=x");
    let case = bundler(&line).file("sub/thin.a", thin);
    let with = |case: Case, members: &[(String, Vec<u8>)]| {
        members.iter().fold(case, |case, (name, bytes)| case.file(name, bytes.clone()))
    };
    // Leave out a member.
    let case = with(case, &members[..1]);
    case.assert_same().failure("");
    with(case, &members[1..]).assert_same().success();
}

#[test(LLVM)]
fn archives_of_compressed_members() {
    for file in ["v2_zstd", "v3_zstd", "synthetic_v1_zlib", "synthetic_v3_zlib"] {
        let bundle = corpus_file(&format!("compressed/{file}.ccob"));
        let bytes = containers::archive(&[("member.bc", &bundle)]);
        let case = |line: &str| lib(line).file("lib.a", bytes.clone());
        case("-targets=GFX906 -output=x").assert_same().success();
        case("-targets=OPENMPgfx906 -output=x").assert_same().failure("");
        case("-hip-openmp-compatible -targets=OPENMPgfx906 -output=x").assert_same().success();
        if file == "v3_zstd" {
            // The lines about speed differ from run to run, so do not compare them.
            let verbose = case("-verbose -targets=GFX906 -output=x");
            let (theirs, ours) = verbose.both();
            let without_speed = |text: &str| -> Vec<String> {
                text.lines().filter(|line| !line.contains("speed: ")).map(str::to_owned).collect()
            };
            assert_eq!(without_speed(&ours.stderr), without_speed(&theirs.stderr));
            assert_eq!((ours.status, ours.files), (theirs.status, theirs.files));
        }
    }
}

#[test(LLVM)]
fn archives_are_checked() {
    let case = lib("-check-input-archive -targets=OPENMPgfx906 -output=x");
    case.assert_same().success();
    // No tool writes a bundle with conflicting IDs, so replace an ID with one of the same length.
    let targets = format!("{HOST},{OPENMP}gfx906:xnack+,{OPENMP}gfx908:xnack+");
    let bundle = bundler(&format!(
        "-type=bc -targets={targets} -input=host -input=one -input=two -output=x"
    ));
    let bundle = replaced(&written(&bundle), "gfx908:xnack+", "gfx906:xnac1-");
    case.file("lib.a", containers::archive(&[("bad.bc", &bundle)]))
        .assert_same()
        .failure("conflicting TargetIDs [");
}

/// Checks that our tool lists the bundles in archives. LLVM 22 lists nothing for archives.
#[test(LLVM)]
fn archives_are_listed() {
    for line in ["-type=a -list -input=lib.a", "-type=o -list -input=lib.a"] {
        let (theirs, ours) = bundler(line).file("lib.a", corpus_file("archive/lib.a")).both();
        let ids = ours.printed();
        let silent = (ours.status, String::new(), ours.stderr);
        assert_eq!((theirs.status.clone(), theirs.printed(), theirs.stderr.clone()), silent);
        assert!(ids.lines().any(|id| id == format!("{OPENMP}gfx906")), "{ids}");
    }
}

//! Tests of features of `clang-offload-bundler` that LLVM 22 lacks: `amdgpu` triples,
//! `-check-input-archive` across offload kinds. LLVM's main branch has them, with tests (2026,
//! commit 0867e555). LLVM 22 refuses these command lines, so ours runs alone.
//!
//! The requirements are those of
//! `clang/test/OffloadTools/clang-offload-bundler/{basic,asserts-on,standardize}.c`. Two
//! requirements intentionally do not hold here. Our tool accepts a target without an environment
//! (`a_target_without_environment_is_read`). If conflicting entries are of one kind, our
//! `-check-input-archive` prints the whole entries, as LLVM 22 does.

use super::{GFX906, HOST, bundler, reading};
use crate::containers::archive;
use crate::corpus_bytes;
use offload_format::archive::Archive;
use offload_tests::registry::NOTHING;
use offload_tests::side_by_side::{Case, Ran};

offload_tests::tests! {
    NOTHING => [
        bundles_and_back, missing_bundles, duplicates_and_conflicts, features_have_a_direction,
        families_cover_their_members, archives_for_one_target, archives_without_the_target,
        conflicts_across_kinds_in_archives, compatibility_is_explained,
        a_target_without_environment_is_read, bundles_inside_of_other_files_are_listed,
    ],
}

/// Returns a bundle with an entry for each target; the contents are the files `one` and `two` in
/// turn.
fn bundle(targets: &[&str]) -> Vec<u8> {
    let inputs = [" -input=one", " -input=two"];
    let inputs: String = inputs.into_iter().cycle().take(targets.len()).collect();
    let line = format!("-type=bc -targets={}{inputs} -output=x", targets.join(","));
    bundler(&line).ours_alone().success().file("x").to_vec()
}

fn unbundle(bundle: &[u8], targets: &[&str]) -> Case {
    let outputs: String = (0..targets.len()).map(|number| format!(" -output=y{number}")).collect();
    reading(bundle, &format!("-type=bc -unbundle -targets={}{outputs}", targets.join(",")))
}

/// Returns the names of the members of the archive that unbundling wrote.
fn members(ran: &Ran) -> Vec<String> {
    let archive = Archive::parse(ran.file("out.a")).unwrap();
    archive.members().map(|member| String::from_utf8_lossy(member.name()).into_owned()).collect()
}

fn unbundle_archive(archive: &[u8], options: &str, target: &str) -> Case {
    reading(archive, &format!("-type=a -unbundle {options} -targets={target} -output=out.a"))
}

fn listed(file_type: &str, file: Vec<u8>) -> Vec<String> {
    let ran = reading(file, &format!("-type={file_type} -list")).ours_alone().success();
    ran.printed().lines().map(str::to_owned).collect()
}

const NEW900: &str = "hip-amdgpu9.00-amd-amdhsa--gfx900";
const NEW906: &str = "hip-amdgpu9.06-amd-amdhsa--gfx906";
const OPENMP906: &str = "openmp-amdgpu9.06-amd-amdhsa--gfx906";

fn bundles_and_back() {
    let ids = [HOST, NEW900, GFX906, "hip-amdgpu-amd-amdhsa--gfx908"];
    let (bundle, without_host) = (bundle(&ids), bundle(&ids[1..]));
    assert_eq!(listed("bc", bundle.clone()), ids);
    assert_eq!(listed("bc", without_host), ids[1..]);
    let ran = unbundle(&bundle, &[NEW900, GFX906]).ours_alone().success();
    assert_eq!((ran.file("y0"), ran.file("y1")), (&b"CODE FOR TWO"[..], &b"code for one\n"[..]));
}

fn missing_bundles() {
    let bundle = bundle(&[HOST, NEW900]);
    let (gfx803, gfx1010) = ("hip-amdgcn-amd-amdhsa--gfx803", "hip-amdgcn-amd-amdhsa--gfx1010");
    for (targets, list) in [
        (&[NEW906][..], NEW906.to_owned()),
        (&[NEW906, NEW900], NEW906.to_owned()),
        (&[NEW906, gfx803], format!("{gfx803} and {NEW906}")),
        (&[NEW906, gfx803, gfx1010], format!("{gfx1010}, {gfx803}, and {NEW906}")),
    ] {
        let message = format!("error: Can't find bundles for {list}\n");
        unbundle(&bundle, targets).ours_alone().failure(&message);
    }
}

fn duplicates_and_conflicts() {
    let duplicate = "error: Duplicate targets are not allowed\n";
    unbundle(&bundle(&[HOST, NEW900]), &[NEW906, NEW906]).ours_alone().failure(duplicate);
    let run = |file_type: &str, targets: &str, inputs: &str| {
        bundler(&format!("-type={file_type} -targets={targets} {inputs} -output=x")).ours_alone()
    };
    let two = "-input=one -input=two";
    let three = "-input=host -input=one -input=two";
    run("bc", &format!("HOST,{NEW900},{NEW900}"), three).failure(duplicate);
    let conflict = "error: Cannot bundle inputs with conflicting targets";
    run("bc", &format!("{NEW906} -targets={NEW906}:xnack+"), two)
        .failure(&format!("{conflict}: '{NEW906}' and '{NEW906}:xnack+'\n"));
    run("o", &format!("HOST,{OPENMP906},{OPENMP906}:sramecc+"), three)
        .failure(&format!("{conflict}: '{OPENMP906}' and '{OPENMP906}:sramecc+'\n"));
    run("bc", &format!("{NEW906}:xnack- -targets={NEW906}:xnack+"), two).success();
}

fn features_have_a_direction() {
    let (on, off) = (&*format!("{NEW906}:xnack+"), &*format!("{NEW906}:xnack-"));
    let any = bundle(&[NEW906]);
    for target in [on, off] {
        let ran = unbundle(&any, &[target]).ours_alone().success();
        assert_eq!(ran.file("y0"), b"code for one\n");
    }
    for target in [off, NEW906] {
        let message = format!("error: Can't find bundles for {target}\n");
        unbundle(&bundle(&[on]), &[target]).ours_alone().failure(&message);
    }
}

fn families_cover_their_members() {
    for (provided, requested, fits) in [
        ("hip-amdgcn", "hip-amdgpu9.06", true),
        ("hip-amdgpu9.06", "hip-amdgcn", true),
        ("hip-amdgpu9", "hip-amdgpu9.06", true),
        ("hip-amdgpu", "hip-amdgpu9", true),
        ("hip-amdgpu9.00", "hip-amdgpu9.06", false),
        ("hip-amdgpu9.0a", "hip-amdgpu9", false),
        // The two kinds of HIP are compatible, too.
        ("hip-amdgpu9.06", "hipv4-amdgpu9.06", true),
        ("hipv4-amdgpu9.06", "hip-amdgpu9.06", true),
    ] {
        let bundle = bundle(&[&format!("{provided}-amd-amdhsa--gfx906")]);
        let target = format!("{requested}-amd-amdhsa--gfx906:sramecc-:xnack+");
        let ran = unbundle(&bundle, &[&target]).ours_alone();
        assert_eq!(ran.succeeded(), fits, "{provided} for {requested}: {}", ran.stderr);
    }
}

/// Returns the library of LLVM's test: three members, two of them for OpenMP.
fn library() -> Vec<u8> {
    let simple = bundle(&[HOST, OPENMP906, "openmp-amdgcn-amd-amdhsa--gfx908"]);
    let other = bundle(&[HOST, "openmp-amdgpu-amd-amdhsa--gfx903"]);
    let hip = bundle(&[HOST, NEW906]);
    archive(&[("simple.bundle", &simple), ("other.bundle", &other), ("hip.bundle", &hip)])
}

fn archives_for_one_target() {
    let gfx908 = "simple-openmp-amdgcn-amd-amdhsa--gfx908simple.bc";
    let simple = format!("simple-{OPENMP906}simple.bc");
    let hip = format!("hip-{NEW906}hip.bc");
    for (options, target, expected) in [
        ("", OPENMP906, &[&*simple][..]),
        ("", &format!("{OPENMP906}:xnack+"), &[&simple]),
        ("", "openmp-amdgcn-amd-amdhsa--gfx908", &[gfx908]),
        ("-hip-openmp-compatible", NEW906, &[&simple, &hip]),
        ("-hip-openmp-compatible", "hipv4-amdgcn-amd-amdhsa--gfx908", &[gfx908]),
        ("-hip-openmp-compatible", OPENMP906, &[&simple, &hip]),
    ] {
        let ran = unbundle_archive(&library(), options, target).ours_alone().success();
        assert_eq!(members(&ran), expected, "{options} {target}");
    }
}

fn archives_without_the_target() {
    let gfx803 = "openmp-amdgpu8.03-amd-amdhsa--gfx803";
    let message = format!(
        "error: no compatible code object found for the target '{gfx803}' in heterogeneous archive library"
    );
    unbundle_archive(&library(), "", gfx803).ours_alone().failure(&message);
    let allowed = unbundle_archive(&library(), "-allow-missing-bundles", gfx803);
    assert_eq!(allowed.ours_alone().success().file("out.a"), b"!<arch>\n");
    for options in ["", "-allow-missing-bundles"] {
        unbundle_archive(b"no archive, a line of text\n", options, NEW900)
            .ours_alone()
            .failure("error: file too small to be an archive\n");
    }
    let message = "error: Targets need to follow the format '<offload kind>-<target triple>'";
    unbundle_archive(&library(), "-hip-openmp-compatible", "openmp-amdgpu-amd-amdhsa")
        .ours_alone()
        .failure(message);
}

/// Checks conflicts between entries of different kinds or triples. Such entries can be bundled,
/// although they are for one processor: bundling compares only entries of one kind and triple.
fn conflicts_across_kinds_in_archives() {
    let message =
        "error: conflicting TargetIDs [gfx906, gfx906:xnack+] found in conflict.bundle of x\n";
    for other in ["hipv4-amdgcn-amd-amdhsa--gfx906:xnack+", &format!("{NEW906}:xnack+")] {
        let library = archive(&[("conflict.bundle", &bundle(&[HOST, GFX906, other]))]);
        let checked = unbundle_archive(&library, "-check-input-archive", GFX906);
        checked.ours_alone().failure(message);
        unbundle_archive(&library, "", GFX906).ours_alone().success();
    }
    let target = "openmp-amdgcn-amd-amdhsa--gfx908";
    unbundle_archive(&library(), "-check-input-archive", target).ours_alone().success();
}

/// Checks the explanations that LLVM's builds with assertions print.
fn compatibility_is_explained() {
    let explain =
        "-debug-only=CodeObjectCompatibility -hip-openmp-compatible -allow-missing-bundles";
    let cases = [(OPENMP906, "Exact match: "), (NEW906, "Target IDs are compatible ")];
    for (target, explanation) in cases {
        let ran = unbundle_archive(&library(), explain, target).ours_alone().success();
        let line =
            format!("Compatible: {explanation}\t[CodeObject: {OPENMP906}]\t:\t[Target: {target}]");
        assert!(ran.stderr.contains(&line), "{line}\n{}", ran.stderr);
    }
}

/// LLVM's test expects no match here, for `openmp-amdgpu-amd-amdhsa--`. Our tool finds gfx906, and
/// warns.
fn a_target_without_environment_is_read() {
    for arch in ["amdgpu", "amdgcn"] {
        let target = format!("openmp-{arch}-amd-amdhsa-gfx906");
        let ran = unbundle_archive(&library(), "", &target).ours_alone().success();
        assert_eq!(members(&ran).len(), 1);
        let warning = "warning: Targets need to follow the format '<offload kind>-";
        let note = format!(
            "note: '{target}' has no <env>: it is read as 'openmp-{arch}-amd-amdhsa--gfx906'\n"
        );
        assert!(ran.stderr.contains(warning) && ran.stderr.ends_with(&note), "{}", ran.stderr);
    }
    for target in [NEW906, "hip-amdgcn-amd-amdhsa-unknown-gfx906", "host-x86_64-unknown-linux-gnu"]
    {
        let line = format!("-type=bc -targets={target} -input=one -output=x");
        assert_eq!(bundler(&line).ours_alone().stderr, "", "{target}");
    }
}

/// Asserts that our tool lists bundles in objects and in archives of objects; LLVM 22 lists nothing
/// for these files.
fn bundles_inside_of_other_files_are_listed() {
    let object = corpus_bytes("fat_file/hip_nordc.o");
    let in_archive = archive(&[("a.o", &object)]);
    for (file_type, file) in [("o", object), ("o", in_archive.clone()), ("a", in_archive)] {
        let listed = listed(file_type, file);
        assert!(listed.contains(&"hipv4-amdgcn-amd-amdhsa--gfx906".to_owned()), "{listed:?}");
    }
    let archive = listed("a", library());
    assert_eq!(archive.len(), 7, "{archive:?}");
    assert_eq!(listed("o", corpus_bytes("object_bundle/host.o")), [""; 0]);
}

//! Tests of features of `clang-offload-bundler` that LLVM 22 lacks: `amdgpu` triples,
//! `-check-input-archive` across offload kinds. LLVM's main branch has them, with tests (2026,
//! commit 0867e555). LLVM 22 refuses these command lines, so ours runs alone.
//!
//! The requirements are those of
//! `clang/test/OffloadTools/clang-offload-bundler/{basic,asserts-on,standardize}.c`. Two
//! requirements intentionally do not hold here. Our tool accepts a target without an environment
//! (`a_target_without_environment_is_read`). If conflicting entries are of one kind, our
//! `-check-input-archive` prints the whole entries, as LLVM 22 does.

use super::{HOST, bundler};
use crate::corpus_bytes;
use offload_format::archive::{Archive, ArchiveBuilder};
use offload_tests::registry::NOTHING;
use offload_tests::side_by_side::{Case, Ran, Whose};

offload_tests::tests! {
    NOTHING => [
        bundles_and_back,
        lists_without_a_host,
        missing_bundles,
        duplicates_and_conflicts,
        features_have_a_direction,
        hip_and_hipv4_are_compatible,
        families_cover_their_members,
        archives_for_one_target,
        archives_without_the_target,
        hip_and_openmp,
        conflicts_across_kinds_in_archives,
        compatibility_is_explained,
        a_target_without_environment_is_read,
        targets_of_another_form,
        bundles_inside_of_other_files_are_listed,
    ],
}

fn ours(case: &Case) -> Ran {
    case.clone().without_llvm_in_path().run(Whose::Ours)
}

fn succeeded(case: &Case) -> Ran {
    let ran = ours(case);
    assert!(ran.succeeded(), "{}", ran.stderr);
    ran
}

fn fails(case: &Case, message: &str) {
    let ran = ours(case);
    assert_eq!(ran.status, "exit status: 1", "{}", ran.stderr);
    assert!(ran.stderr.contains(message), "{message:?} is not in {}", ran.stderr);
}

/// Returns a bundle with an entry for each target; the contents are the files `one` and `two` in
/// turn.
fn bundle(targets: &[&str]) -> Vec<u8> {
    let inputs =
        ["one", "two"].iter().cycle().take(targets.len()).map(|name| format!(" -input={name}"));
    let inputs: String = inputs.collect();
    let line = format!("-type=bc -targets={}{inputs} -output=x", targets.join(","));
    succeeded(&bundler(&line)).file("x").to_vec()
}

fn unbundle(bundle: &[u8], targets: &[&str]) -> Case {
    let outputs: String = (0..targets.len()).map(|number| format!(" -output=y{number}")).collect();
    bundler(&format!("-type=bc -unbundle -targets={} -input=x{outputs}", targets.join(",")))
        .file("x", bundle)
}

fn archive_of(members: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut builder = ArchiveBuilder::new();
    for (name, bytes) in members {
        builder.member(*name, bytes.len() as u64).unwrap();
    }
    builder.layout().to_vec(&members.iter().map(|(_, bytes)| bytes.as_slice()).collect::<Vec<_>>())
}

fn member_names(archive: &[u8]) -> Vec<String> {
    let archive = Archive::parse(archive).unwrap();
    archive.members().map(|member| String::from_utf8_lossy(member.name()).into_owned()).collect()
}

fn unbundle_archive(archive: &[u8], options: &str, target: &str) -> Case {
    bundler(&format!("-type=a -unbundle {options} -targets={target} -input=lib.a -output=out.a"))
        .file("lib.a", archive)
}

const GFX900: &str = "hip-amdgpu9.00-amd-amdhsa--gfx900";
const GFX906: &str = "hip-amdgpu9.06-amd-amdhsa--gfx906";

fn bundles_and_back() {
    let ids = [HOST, GFX900, "hip-amdgcn-amd-amdhsa--gfx906", "hip-amdgpu-amd-amdhsa--gfx908"];
    let bundle = bundle(&ids);
    let list = succeeded(&bundler("-type=bc -list -input=x").file("x", bundle.clone())).stdout;
    assert_eq!(String::from_utf8(list).unwrap().lines().collect::<Vec<_>>(), ids);
    let ran = succeeded(&unbundle(&bundle, &[GFX900, "hip-amdgcn-amd-amdhsa--gfx906"]));
    assert_eq!(
        (ran.file("y0"), ran.file("y1")),
        (b"CODE FOR TWO".as_slice(), b"code for one\n".as_slice())
    );
}

fn lists_without_a_host() {
    let bundle = bundle(&[GFX900, "hip-amdgcn-amd-amdhsa--gfx906"]);
    let list = succeeded(&bundler("-type=bc -list -input=x").file("x", bundle)).stdout;
    assert!(!String::from_utf8(list).unwrap().contains("host-"));
}

fn missing_bundles() {
    let bundle = bundle(&[HOST, GFX900]);
    let (gfx803, gfx1010) = ("hip-amdgcn-amd-amdhsa--gfx803", "hip-amdgcn-amd-amdhsa--gfx1010");
    for (targets, list) in [
        (&[GFX906][..], GFX906.to_owned()),
        (&[GFX906, GFX900], GFX906.to_owned()),
        (&[GFX906, gfx803], format!("{gfx803} and {GFX906}")),
        (&[GFX906, gfx803, gfx1010], format!("{gfx1010}, {gfx803}, and {GFX906}")),
    ] {
        fails(&unbundle(&bundle, targets), &format!("error: Can't find bundles for {list}\n"));
    }
}

fn duplicates_and_conflicts() {
    let bundle = bundle(&[HOST, GFX900]);
    let duplicate = "error: Duplicate targets are not allowed\n";
    fails(&unbundle(&bundle, &[GFX906, GFX906]), duplicate);
    fails(
        &bundler(&format!(
            "-type=bc -targets={HOST},{GFX900},{GFX900} -input=host -input=one -input=one -output=x"
        )),
        duplicate,
    );
    let with_feature = format!("{GFX906}:xnack+");
    let line = format!(
        "-type=bc -targets={GFX906} -targets={with_feature} -input=one -input=two -output=x"
    );
    let conflict = "error: Cannot bundle inputs with conflicting targets";
    fails(&bundler(&line), &format!("{conflict}: '{GFX906}' and '{with_feature}'\n"));
    let openmp = "openmp-amdgpu9.06-amd-amdhsa--gfx906";
    let line = format!(
        "-type=o -targets={HOST},{openmp},{openmp}:sramecc+ -input=host -input=one -input=two -output=x"
    );
    fails(&bundler(&line), &format!("{conflict}: '{openmp}' and '{openmp}:sramecc+'\n"));
    let line = format!(
        "-type=bc -targets={GFX906}:xnack- -targets={with_feature} -input=one -input=two -output=x"
    );
    succeeded(&bundler(&line));
}

fn features_have_a_direction() {
    let any = bundle(&[GFX906]);
    let (on, off) = (format!("{GFX906}:xnack+"), format!("{GFX906}:xnack-"));
    for target in [&on, &off] {
        assert_eq!(succeeded(&unbundle(&any, &[target])).file("y0"), b"code for one\n");
    }
    let on = bundle(&[&on]);
    fails(&unbundle(&on, &[&off]), &format!("error: Can't find bundles for {off}\n"));
    fails(&unbundle(&on, &[GFX906]), &format!("error: Can't find bundles for {GFX906}\n"));
}

fn hip_and_hipv4_are_compatible() {
    for (provided, requested) in [("hip", "hipv4"), ("hipv4", "hip")] {
        let bundle = bundle(&[&format!("{provided}-amdgpu9.0a-amd-amdhsa--gfx90a")]);
        let target = format!("{requested}-amdgpu9.0a-amd-amdhsa--gfx90a:sramecc-:xnack+");
        succeeded(&unbundle(&bundle, &[&target]));
    }
}

fn families_cover_their_members() {
    for (provided, requested, fits) in [
        ("amdgcn", "amdgpu9.06", true),
        ("amdgpu9.06", "amdgcn", true),
        ("amdgpu9", "amdgpu9.06", true),
        ("amdgpu", "amdgpu9", true),
        ("amdgpu9.00", "amdgpu9.06", false),
        ("amdgpu9.0a", "amdgpu9", false),
    ] {
        let bundle = bundle(&[&format!("hip-{provided}-amd-amdhsa--gfx906")]);
        let ran = ours(&unbundle(&bundle, &[&format!("hip-{requested}-amd-amdhsa--gfx906")]));
        assert_eq!(ran.succeeded(), fits, "{provided} for {requested}: {}", ran.stderr);
    }
}

/// Returns the library of LLVM's test: three members, two of them for OpenMP.
fn library() -> Vec<u8> {
    let simple =
        bundle(&[HOST, "openmp-amdgpu9.06-amd-amdhsa--gfx906", "openmp-amdgcn-amd-amdhsa--gfx908"]);
    let other = bundle(&[HOST, "openmp-amdgpu-amd-amdhsa--gfx903"]);
    let hip = bundle(&[HOST, GFX906]);
    archive_of(&[("simple.bundle", simple), ("other.bundle", other), ("hip.bundle", hip)])
}

fn archives_for_one_target() {
    for target in
        ["openmp-amdgpu9.06-amd-amdhsa--gfx906", "openmp-amdgpu9.06-amd-amdhsa--gfx906:xnack+"]
    {
        let ran = succeeded(&unbundle_archive(&library(), "", target));
        assert_eq!(
            member_names(ran.file("out.a")),
            ["simple-openmp-amdgpu9.06-amd-amdhsa--gfx906simple.bc"]
        );
    }
    let ran = succeeded(&unbundle_archive(&library(), "", "openmp-amdgcn-amd-amdhsa--gfx908"));
    assert!(member_names(ran.file("out.a")).iter().all(|name| name.contains("gfx908")));
}

fn archives_without_the_target() {
    let gfx803 = "openmp-amdgpu8.03-amd-amdhsa--gfx803";
    let message = format!(
        "error: no compatible code object found for the target '{gfx803}' in heterogeneous archive library"
    );
    fails(&unbundle_archive(&library(), "", gfx803), &message);
    let ran = succeeded(&unbundle_archive(&library(), "-allow-missing-bundles", gfx803));
    assert_eq!(ran.file("out.a"), b"!<arch>\n");
    let text = b"no archive, a line of text\n";
    for options in ["", "-allow-missing-bundles"] {
        fails(&unbundle_archive(text, options, GFX900), "error: file too small to be an archive\n");
    }
}

fn hip_and_openmp() {
    for (target, expected) in [
        (GFX906, "simple-openmp-amdgpu9.06-amd-amdhsa--gfx906simple.bc"),
        ("hipv4-amdgcn-amd-amdhsa--gfx908", "simple-openmp-amdgcn-amd-amdhsa--gfx908simple.bc"),
        ("openmp-amdgpu9.06-amd-amdhsa--gfx906", "hip-hip-amdgpu9.06-amd-amdhsa--gfx906hip.bc"),
    ] {
        let ran = succeeded(&unbundle_archive(&library(), "-hip-openmp-compatible", target));
        let names = member_names(ran.file("out.a"));
        assert!(names.iter().any(|name| name == expected), "{expected} is not among {names:?}");
    }
}

/// Checks conflicts between entries of different kinds or triples. Such entries can be bundled,
/// although they are for one processor: bundling compares only entries of one kind and triple.
fn conflicts_across_kinds_in_archives() {
    let target = "hip-amdgcn-amd-amdhsa--gfx906";
    let message =
        "error: conflicting TargetIDs [gfx906, gfx906:xnack+] found in conflict.bundle of lib.a\n";
    for other in
        ["hipv4-amdgcn-amd-amdhsa--gfx906:xnack+", "hip-amdgpu9.06-amd-amdhsa--gfx906:xnack+"]
    {
        let library = archive_of(&[("conflict.bundle", bundle(&[HOST, target, other]))]);
        fails(&unbundle_archive(&library, "-check-input-archive", target), message);
        succeeded(&unbundle_archive(&library, "", target));
    }
    succeeded(&unbundle_archive(
        &library(),
        "-check-input-archive",
        "openmp-amdgcn-amd-amdhsa--gfx908",
    ));
}

/// Checks the explanations that LLVM's builds with assertions print.
fn compatibility_is_explained() {
    let explain =
        "-debug-only=CodeObjectCompatibility -hip-openmp-compatible -allow-missing-bundles";
    for (target, line) in [
        (
            "openmp-amdgpu9.06-amd-amdhsa--gfx906",
            "Compatible: Exact match: \t[CodeObject: openmp-amdgpu9.06-amd-amdhsa--gfx906]\t:\t[Target: openmp-amdgpu9.06-amd-amdhsa--gfx906]",
        ),
        (
            GFX906,
            "Compatible: Target IDs are compatible \t[CodeObject: openmp-amdgpu9.06-amd-amdhsa--gfx906]\t:\t[Target: hip-amdgpu9.06-amd-amdhsa--gfx906]",
        ),
    ] {
        let ran = succeeded(&unbundle_archive(&library(), explain, target));
        assert!(ran.stderr.contains(line), "{line}\n{}", ran.stderr);
    }
}

/// LLVM's test expects no match here, for `openmp-amdgpu-amd-amdhsa--`. Our tool finds gfx906, and
/// warns.
fn a_target_without_environment_is_read() {
    for arch in ["amdgpu", "amdgcn"] {
        let target = format!("openmp-{arch}-amd-amdhsa-gfx906");
        let ran = succeeded(&unbundle_archive(&library(), "", &target));
        assert_eq!(member_names(ran.file("out.a")).len(), 1);
        assert!(
            ran.stderr.contains("warning: Targets need to follow the format '<offload kind>-"),
            "{}",
            ran.stderr
        );
        let note = format!(
            "note: '{target}' has no <env>: it is read as 'openmp-{arch}-amd-amdhsa--gfx906'\n"
        );
        assert!(ran.stderr.ends_with(&note), "{}", ran.stderr);
    }
    for target in [GFX906, "hip-amdgcn-amd-amdhsa-unknown-gfx906", "host-x86_64-unknown-linux-gnu"]
    {
        let line = format!("-type=bc -targets={target} -input=one -output=x");
        assert_eq!(ours(&bundler(&line)).stderr, "", "{target}");
    }
}

fn targets_of_another_form() {
    let message = "error: Targets need to follow the format '<offload kind>-<target triple>'";
    fails(
        &unbundle_archive(&library(), "-hip-openmp-compatible", "openmp-amdgpu-amd-amdhsa"),
        message,
    );
}

/// Asserts that our tool lists bundles in objects and in archives of objects; LLVM 22 lists nothing
/// for these files.
fn bundles_inside_of_other_files_are_listed() {
    let object = corpus_bytes("fat_file/hip_nordc.o");
    let lines = |ran: Ran| {
        String::from_utf8(ran.stdout).unwrap().lines().map(str::to_owned).collect::<Vec<_>>()
    };
    for (file_type, file) in [
        ("o", object.clone()),
        ("o", archive_of(&[("a.o", object.clone())])),
        ("a", archive_of(&[("a.o", object.clone())])),
    ] {
        let listed = lines(succeeded(
            &bundler(&format!("-type={file_type} -list -input=x")).file("x", file),
        ));
        assert!(listed.contains(&"hipv4-amdgcn-amd-amdhsa--gfx906".to_owned()), "{listed:?}");
    }
    let archive = lines(succeeded(&bundler("-type=a -list -input=x").file("x", library())));
    assert_eq!(archive.len(), 7, "{archive:?}");
    let plain = corpus_bytes("object_bundle/host.o");
    assert_eq!(lines(succeeded(&bundler("-type=o -list -input=x").file("x", plain))), [""; 0]);
}

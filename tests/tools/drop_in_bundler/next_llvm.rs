//! Tests of features of `clang-offload-bundler` that LLVM 22 lacks: `amdgpu` triples, and
//! `-check-input-archive` across offload kinds. LLVM's main branch has these features and tests of
//! them (2026, commit 0867e555). LLVM 22 refuses these command lines, so only our tool runs.
//!
//! The requirements are those of
//! `clang/test/OffloadTools/clang-offload-bundler/{basic,asserts-on,standardize}.c`, with two
//! intentional exceptions. LLVM's test expects no match for a target without an environment, but
//! our tool accepts such targets (`archives_for_one_target`). If conflicting entries have the same
//! kind, our `-check-input-archive` prints the whole entries, as LLVM 22 does.

use super::{GFX906, HOST};
use crate::{assert_session, containers};
use offload_tests::prelude::*;

/// Runs command lines in a folder with two files. `BUNDLER` stands for the tool, and some short
/// names stand for entry IDs.
fn session(folder: &Path, name: &str, lines: &str) {
    scratch::write(folder.join("one"), "code for one\n");
    scratch::write(folder.join("two"), "CODE FOR TWO\n");
    let mut lines = lines.to_owned();
    for (name, text) in [
        ("BUNDLER", "clang-offload-bundler"),
        ("HOST", HOST),
        ("OLD906", GFX906),
        ("NEW900", "hip-amdgpu9.00-amd-amdhsa--gfx900"),
        ("NEW906", "hip-amdgpu9.06-amd-amdhsa--gfx906"),
        ("OPENMP906", "openmp-amdgpu9.06-amd-amdhsa--gfx906"),
        ("OPENMP908", "openmp-amdgcn-amd-amdhsa--gfx908"),
    ] {
        lines = lines.replace(name, text);
    }
    assert_session(folder, &format!("next_bundler/{name}"), &lines);
}

#[test]
fn bundles_and_back() {
    let lines = "
        BUNDLER -type=bc -targets=HOST,NEW900,OLD906,hip-amdgpu-amd-amdhsa--gfx908 \
            -input=/dev/null -input=two -input=one -input=two -output=x
        BUNDLER -type=bc -list -input=x
        BUNDLER -type=bc -unbundle -targets=NEW900,OLD906 -input=x -output=y -output=z && cat y z
        BUNDLER -type=bc -targets=NEW900,OLD906 -input=two -input=one -output=x
        BUNDLER -type=bc -list -input=x
        BUNDLER -type=bc -targets=HOST,NEW900 -input=one -input=two -output=x
        BUNDLER -type=bc -unbundle -targets=NEW906 -input=x -output=y
        BUNDLER -type=bc -unbundle -targets=NEW906,NEW900 -input=x -output=y -output=z
        BUNDLER -type=bc -unbundle -targets=NEW906,hip-amdgcn-amd-amdhsa--gfx803 \
            -input=x -output=y -output=z
        BUNDLER -type=bc -unbundle -targets=NEW906,hip-amdgcn-amd-amdhsa--gfx803,\
hip-amdgcn-amd-amdhsa--gfx1010 -input=x -output=y -output=z -output=a
        BUNDLER -type=bc -unbundle -targets=NEW906,NEW906 -input=x -output=y -output=z
        BUNDLER -type=bc -targets=HOST,NEW900,NEW900 -input=one -input=one -input=two -output=x
        BUNDLER -type=bc -targets=NEW906 -targets=NEW906:xnack+ -input=one -input=two -output=x
        BUNDLER -type=o -targets=HOST,OPENMP906,OPENMP906:sramecc+ \
            -input=one -input=one -input=two -output=x
        BUNDLER -type=bc -targets=NEW906:xnack- -targets=NEW906:xnack+ \
            -input=one -input=two -output=x
        BUNDLER -type=bc -targets=NEW906 -input=one -output=x
        BUNDLER -type=bc -unbundle -targets=NEW906:xnack+ -input=x -output=y && cat y
        BUNDLER -type=bc -unbundle -targets=NEW906:xnack- -input=x -output=y && cat y
        BUNDLER -type=bc -targets=NEW906:xnack+ -input=one -output=x
        BUNDLER -type=bc -unbundle -targets=NEW906:xnack- -input=x -output=y
        BUNDLER -type=bc -unbundle -targets=NEW906 -input=x -output=y";
    session(&scratch::folder("next-bundler-bundles"), "bundles", lines);
}

#[test]
fn families_cover_their_members() {
    let mut lines = String::new();
    for (provided, requested) in [
        ("hip-amdgcn", "hip-amdgpu9.06"),
        ("hip-amdgpu9.06", "hip-amdgcn"),
        ("hip-amdgpu9", "hip-amdgpu9.06"),
        ("hip-amdgpu", "hip-amdgpu9"),
        ("hip-amdgpu9.00", "hip-amdgpu9.06"),
        ("hip-amdgpu9.0a", "hip-amdgpu9"),
        // HIP's two kinds are also compatible.
        ("hip-amdgpu9.06", "hipv4-amdgpu9.06"),
        ("hipv4-amdgpu9.06", "hip-amdgpu9.06"),
    ] {
        lines += &format!(
            "BUNDLER -type=bc -targets={provided}-amd-amdhsa--gfx906 -input=one -output=x\n\
             BUNDLER -type=bc -unbundle -targets={requested}-amd-amdhsa--gfx906:sramecc-:xnack+ \
             -input=x -output=y\n"
        );
    }
    session(&scratch::folder("next-bundler-families"), "families", &lines);
}

/// Writes an archive `<name>.a` of bundles, which are files in the folder.
fn archive(folder: &Path, name: &str, members: &[&str]) {
    let members: Vec<_> = members.iter().map(|name| (*name, read(folder.join(name)))).collect();
    let members: Vec<_> = members.iter().map(|(name, bytes)| (*name, &bytes[..])).collect();
    scratch::write(folder.join(format!("{name}.a")), containers::archive(&members));
}

/// Tests the library from LLVM's test. Two of its three members are for OpenMP. Also tests archives
/// whose entries for one processor have different kinds or triples. Such entries can be bundled,
/// because the tool compares only entries with the same kind and triple.
#[test]
fn archives_for_one_target() {
    let folder = scratch::folder("next-bundler-archives");
    let lines = "
        BUNDLER -type=bc -targets=HOST,OPENMP906,OPENMP908 \
            -input=one -input=two -input=one -output=simple.bundle
        BUNDLER -type=bc -targets=HOST,openmp-amdgpu-amd-amdhsa--gfx903 \
            -input=one -input=two -output=other.bundle
        BUNDLER -type=bc -targets=HOST,NEW906 -input=one -input=two -output=hip.bundle
        BUNDLER -type=bc -targets=HOST,OLD906,hipv4-amdgcn-amd-amdhsa--gfx906:xnack+ \
            -input=one -input=two -input=one -output=kinds.bundle
        BUNDLER -type=bc -targets=HOST,OLD906,NEW906:xnack+ \
            -input=one -input=two -input=one -output=triples.bundle";
    session(&folder, "bundles_of_archives", lines);
    archive(&folder, "lib", &["simple.bundle", "other.bundle", "hip.bundle"]);
    archive(&folder, "kinds", &["kinds.bundle"]);
    archive(&folder, "triples", &["triples.bundle"]);
    // `MEMBERS` stands for a command that prints the names of the members in the written archive.
    let explain =
        "-debug-only=CodeObjectCompatibility -hip-openmp-compatible -allow-missing-bundles";
    let lines = "
        BUNDLER -type=a -list -input=lib.a
        UNBUNDLE lib.a -targets=OPENMP906 MEMBERS
        UNBUNDLE lib.a -targets=OPENMP906:xnack+ MEMBERS
        UNBUNDLE lib.a -targets=OPENMP908 MEMBERS
        UNBUNDLE lib.a -hip-openmp-compatible -targets=NEW906 MEMBERS
        UNBUNDLE lib.a -hip-openmp-compatible -targets=hipv4-amdgcn-amd-amdhsa--gfx908 MEMBERS
        UNBUNDLE lib.a -hip-openmp-compatible -targets=OPENMP906 MEMBERS
        UNBUNDLE lib.a -targets=openmp-amdgpu8.03-amd-amdhsa--gfx803
        UNBUNDLE lib.a -allow-missing-bundles -targets=openmp-amdgpu8.03-amd-amdhsa--gfx803 && cat out.a
        UNBUNDLE one -targets=NEW900
        UNBUNDLE one -allow-missing-bundles -targets=NEW900
        UNBUNDLE lib.a -hip-openmp-compatible -targets=openmp-amdgpu-amd-amdhsa
        UNBUNDLE kinds.a -check-input-archive -targets=OLD906
        UNBUNDLE kinds.a -targets=OLD906
        UNBUNDLE triples.a -check-input-archive -targets=OLD906
        UNBUNDLE triples.a -targets=OLD906
        UNBUNDLE lib.a -check-input-archive -targets=OPENMP908
        UNBUNDLE lib.a EXPLAIN -targets=OPENMP906
        UNBUNDLE lib.a EXPLAIN -targets=NEW906
        UNBUNDLE lib.a -targets=openmp-amdgpu-amd-amdhsa-gfx906 MEMBERS
        UNBUNDLE lib.a -targets=openmp-amdgcn-amd-amdhsa-gfx906 MEMBERS
        BUNDLER -type=bc -targets=NEW906 -input=one -output=x
        BUNDLER -type=bc -targets=hip-amdgcn-amd-amdhsa-unknown-gfx906 -input=one -output=x
        BUNDLER -type=bc -targets=host-x86_64-unknown-linux-gnu -input=one -output=x"
        .replace("UNBUNDLE ", "BUNDLER -type=a -unbundle -output=out.a -input=")
        .replace("EXPLAIN", explain)
        .replace("MEMBERS", "&& grep -ao '.*bc/' out.a");
    session(&folder, "archives", &lines);
}

/// Tests the listing of objects and archives of objects, for which LLVM 22 lists nothing.
#[test]
fn bundles_inside_of_other_files_are_listed() {
    let folder = scratch::folder("next-bundler-listed");
    scratch::write(folder.join("a.o"), corpus_file("fat_file/hip_nordc.o"));
    scratch::write(folder.join("host.o"), corpus_file("object_bundle/host.o"));
    archive(&folder, "lib", &["a.o"]);
    let lines = "
        BUNDLER -type=o -list -input=a.o
        BUNDLER -type=o -list -input=lib.a
        BUNDLER -type=a -list -input=lib.a
        BUNDLER -type=o -list -input=host.o";
    session(&folder, "listed", lines);
}

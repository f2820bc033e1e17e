//! Tests of the images that `cargo offload extract` selects: all compatible ones with `--target`,
//! or by name with `--exact`.

use crate::assert_session;
use offload_tests::prelude::*;

/// Returns shell command lines that extract images with each of these options.
fn extract(file: &str, options: &str) -> String {
    let line = |option: &str| format!("cargo-offload extract {file} -o out {}\n", option.trim());
    options.split('|').map(line).collect()
}

/// If no image fits any target, no folder is created. An image that fits one of two targets is
/// written. For bundle entry IDs, LLVM's rules select the entries, and the kind must match.
#[test]
fn targets_choose_by_compatibility() {
    let folder = scratch::folder("ls-targets");
    scratch::write(folder.join("basic.bc"), corpus_file("bundle/basic.bc"));
    scratch::write(folder.join("junk"), "junk");
    let targets = "gfx90a:xnack- gfx90a:xnack+ gfx90a gfx1100 gfx11-generic gfx9-4-generic sm_80 \
        sm_86 sm_90a compute_80 x86_64-unknown-linux-gnu";
    let images = targets.split(' ').map(|target| format!(" {target}=junk"));
    let lines = format!("cargo-offload pack --force -o packed{}\n", images.collect::<String>())
        + "cargo-offload extract packed -o none -t gfx906 || ls\n"
        + &extract(
            "packed",
            "-t gfx90a:xnack- | -t gfx90a:sramecc+:xnack+ | -t gfx90a | -t gfx1100 | -t gfx1103 | \
             -t gfx11-generic | -t gfx9-4-generic:xnack+ | -t sm_80 | -t sm_89 | -t sm_90a | \
             -t sm_120 | -t compute_90 | \
             -t x86_64-unknown-linux-gnu | -t gfx1100 -t sm_80 | -t gfx906 -t sm_80 | -t sm_8x",
        )
        + &extract(
            "basic.bc",
            "-t hip-amdgcn-amd-amdhsa--gfx906 | -t hip-amdgcn-amd-amdhsa--gfx906:xnack+ | \
             -t openmp-amdgcn-amd-amdhsa--gfx906 | -t hip-amdgcn-amd-amdhsa--gfx90a",
        );
    assert_session(&folder, "extract_targets", &lines);
}

/// The host's empty entry is written only on request.
#[test]
fn names_choose_by_equality() {
    let folder = scratch::folder("ls-exact");
    scratch::write(folder.join("hip_nordc.o"), corpus_file("fat_file/hip_nordc.o"));
    scratch::write(folder.join("junk"), "junk");
    let images = "gfx90a=junk gfx90a:xnack-=junk gfx11-generic=junk";
    let lines = format!("cargo-offload pack --force -o packed {images}\n")
        + &extract("packed", "--exact gfx90a | --exact gfx1100")
        + &extract(
            "hip_nordc.o",
            " | --exact host-x86_64-unknown-linux-gnu- | --empty | -q && wc -c out/hip*",
        );
    assert_session(&folder, "extract_exact", &lines);
}

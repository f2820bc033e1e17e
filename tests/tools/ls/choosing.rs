//! Tests of which images `cargo offload extract` selects: with `--target`, all compatible ones, and
//! with `--exact`.

use super::{extract, extracted};
use crate::containers::binary;
use crate::{assert_session, corpus_bytes, text};
use offload_format::offload_binary::{ImageKind, OffloadKind, Version};
use offload_tests::prelude::*;

offload_tests::tests! {
    NOTHING => [targets_choose_by_compatibility, names_choose_by_equality],
}

/// Writes `packed.bin`, an offload binary with an image for each target; each image contains its
/// target's name.
fn packed(folder: &Path, targets: &[&str]) -> PathBuf {
    let file = targets.iter().flat_map(|target| {
        let (kind, triple) = match target {
            it if it.starts_with("gfx") => (OffloadKind::HIP, "amdgcn-amd-amdhsa"),
            it if it.contains("linux") => (OffloadKind::NONE, *it),
            _ => (OffloadKind::CUDA, "nvptx64-nvidia-cuda"),
        };
        let strings = [("triple", triple), ("arch", *target)];
        let strings = &strings[..if triple == *target { 1 } else { 2 }];
        binary(Version::V1, &[(ImageKind::OBJECT, kind, strings, target.as_bytes())])
    });
    let path = folder.join("packed.bin");
    scratch::write(&path, file.collect::<Vec<u8>>());
    path
}

/// The first target that no image fits makes no folder. If no image fits one of two targets, the
/// image for the other is written. For IDs of bundle entries, LLVM's rules select the entries, and
/// the kind must match.
fn targets_choose_by_compatibility() {
    let folder = scratch::folder("ls-targets");
    let all = "gfx90a:xnack- gfx90a:xnack+ gfx90a gfx1100 gfx11-generic sm_80 sm_86 sm_90a compute_80 \
               x86_64-unknown-linux-gnu";
    packed(&folder, &all.split(' ').collect::<Vec<_>>());
    scratch::write(folder.join("basic.bc"), corpus_bytes("bundle/basic.bc"));
    let mut lines = "cargo-offload extract packed.bin -o none -t gfx906 || ls\n".to_owned();
    let targets = "gfx90a:xnack-|gfx90a:sramecc+:xnack+|gfx90a|gfx1100|gfx1103|gfx11-generic|sm_80|sm_89|\
        sm_90a|sm_120|compute_90|x86_64-unknown-linux-gnu|gfx1100 -t sm_80|gfx906 -t sm_80|sm_8x";
    for target in targets.split('|') {
        lines += &format!("cargo-offload extract packed.bin -o out -t {target}\n");
    }
    for id in ["hip-gfx906", "hip-gfx906:xnack+", "openmp-gfx906", "hip-gfx90a"] {
        let id = id.replace('-', "-amdgcn-amd-amdhsa--");
        lines += &format!("cargo-offload extract basic.bc -o out -t {id}\n");
    }
    assert_session(&folder, "extract_targets", &lines);
}

fn names_choose_by_equality() {
    let folder = scratch::folder("ls-exact");
    let file = packed(&folder, &["gfx90a", "gfx90a:xnack-", "gfx11-generic"]);
    let found = extracted(&folder.join("out"), &[text(&file), "--exact", "gfx90a"]);
    assert_eq!(found, [b"gfx90a"]);
    let (run, _) = extract(&folder.join("none"), &[text(&file), "--exact", "gfx1100"]);
    assert_eq!(run.code, 1);
    // The host's empty entry is written only if it is requested.
    let (_, files) = extract(&folder.join("all"), &["fat_file/hip_nordc.o"]);
    assert_eq!(files.keys().collect::<Vec<_>>(), ["hip_nordc.o.0.hipv4.gfx906.hsaco"]);
    let host = "host-x86_64-unknown-linux-gnu-";
    for arguments in [&["--exact", host][..], &["--empty"]] {
        let arguments = [&["fat_file/hip_nordc.o"], arguments].concat();
        let (_, files) = extract(&folder.join("host"), &arguments);
        assert_eq!(files["hip_nordc.o.0.host.x86_64-unknown-linux-gnu.bin"], b"");
    }
    let (run, files) = extract(&folder.join("quiet"), &["fat_file/hip_nordc.o", "-q"]);
    assert_eq!((run.stdout.as_str(), files.len()), ("", 1));
}

//! Tests of which images `cargo offload extract` selects: with `--target`, all compatible ones, and
//! with `--exact`.

use super::{extract, extracted};
use crate::containers::binary;
use crate::{assert_ends, assert_fails, text};
use offload_format::offload_binary::{ImageKind, OffloadKind, Version};
use offload_tests::prelude::*;

offload_tests::tests! {
    NOTHING => [targets_choose_by_compatibility, names_choose_by_equality],
}

/// Returns an offload binary with an image for each target; each image contains its target's name.
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

fn targets_choose_by_compatibility() {
    let folder = scratch::folder("ls-targets");
    let all = "gfx90a:xnack- gfx90a:xnack+ gfx90a gfx1100 gfx11-generic sm_80 sm_86 sm_90a compute_80 \
               x86_64-unknown-linux-gnu";
    let file = packed(&folder, &all.split(' ').collect::<Vec<_>>());
    for (asked, expected) in [
        ("gfx90a:xnack-", "gfx90a:xnack- gfx90a"),
        ("gfx90a:sramecc+:xnack+", "gfx90a:xnack+ gfx90a"),
        ("gfx90a", "gfx90a"),
        ("gfx1100", "gfx1100 gfx11-generic"),
        ("gfx1103", "gfx11-generic"),
        ("gfx11-generic", "gfx11-generic"),
        ("sm_80", "sm_80 compute_80"),
        ("sm_89", "sm_80 sm_86 compute_80"),
        ("sm_90a", "sm_90a compute_80"),
        ("sm_120", "compute_80"),
        ("compute_90", "compute_80"),
        ("x86_64-unknown-linux-gnu", "x86_64-unknown-linux-gnu"),
        ("gfx1100 sm_80", "gfx1100 gfx11-generic sm_80 compute_80"),
    ] {
        let mut arguments = vec![text(&file)];
        asked.split(' ').for_each(|target| arguments.extend(["--target", target]));
        let found = extracted(&folder.join("out"), &arguments);
        assert_eq!(String::from_utf8_lossy(&found.join(&b' ')), expected, "{asked}");
    }
    // If no image fits, the command prints the available ones and makes no folder.
    let (run, files) = extract(&folder.join("none"), &[text(&file), "--target", "gfx906"]);
    assert_fails(&run, &["no image for gfx906\n  there is:\n    gfx90a:xnack-\n"]);
    assert_eq!((files.len(), folder.join("none").exists()), (0, false));
    // If no image fits one of two targets, the image for the other is written.
    let (run, files) = extract(&folder.join("half"), &[text(&file), "-t", "gfx906", "-t", "sm_80"]);
    assert_ends(&run, 1, "warning: no image for gfx906\n");
    assert_eq!(files.len(), 2);
    // `sm_8x` is not a target.
    let (run, _) = extract(&folder.join("wrong"), &[text(&file), "-t", "sm_8x"]);
    assert_fails(&run, &["--target sm_8x: no target has such a name"]);
    // If the argument is an ID of a bundle entry, LLVM's rules select the entries, and the kind
    // must match.
    for (id, count) in [
        ("hip-amdgcn-amd-amdhsa--gfx906", 1),
        ("hip-amdgcn-amd-amdhsa--gfx906:xnack+", 1),
        ("openmp-amdgcn-amd-amdhsa--gfx906", 0),
        ("hip-amdgcn-amd-amdhsa--gfx90a", 0),
    ] {
        let (_, files) = extract(&folder.join("bundle"), &["bundle/basic.bc", "--target", id]);
        assert_eq!(files.len(), count, "{id}");
    }
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

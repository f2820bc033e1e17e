//! Tests of which images `cargo offload extract` selects: with `--target`, all compatible ones, and
//! with `--exact`.

use super::{extract, extracted};
use crate::{assert_fails, text};
use offload_format::offload_binary::{ImageKind, OffloadBinaryBuilder, OffloadKind, Version};
use offload_tests::registry::NOTHING;
use offload_tests::scratch;
use std::path::{Path, PathBuf};

offload_tests::tests! {
    NOTHING => [targets_choose_by_compatibility, names_choose_by_equality],
}

/// Returns an offload binary with an image for each target; each image contains its target's name.
fn packed(folder: &Path, targets: &[&str]) -> PathBuf {
    let mut file = Vec::new();
    for target in targets {
        let mut builder = OffloadBinaryBuilder::new();
        let (kind, triple) = match target {
            it if it.starts_with("gfx") => (OffloadKind::HIP, "amdgcn-amd-amdhsa"),
            it if it.contains('_') && !it.contains("linux") => {
                (OffloadKind::CUDA, "nvptx64-nvidia-cuda")
            }
            it => (OffloadKind::NONE, *it),
        };
        let image = builder.image(ImageKind::OBJECT, kind, target.len() as u64);
        image.string("triple", triple);
        if triple != *target {
            image.string("arch", target);
        }
        file.extend(builder.layout(Version::V1).to_vec(&[target.as_bytes()]));
    }
    let path = folder.join("packed.bin");
    scratch::write(&path, file);
    path
}

fn targets_choose_by_compatibility() {
    let folder = scratch::folder("ls-targets");
    let all = [
        "gfx90a:xnack-",
        "gfx90a:xnack+",
        "gfx90a",
        "gfx1100",
        "gfx11-generic",
        "sm_80",
        "sm_86",
        "sm_90a",
        "compute_80",
        "x86_64-unknown-linux-gnu",
    ];
    let file = packed(&folder, &all);
    for (asked, expected) in [
        (&["gfx90a:xnack-"][..], &["gfx90a:xnack-", "gfx90a"][..]),
        (&["gfx90a:sramecc+:xnack+"], &["gfx90a:xnack+", "gfx90a"]),
        (&["gfx90a"], &["gfx90a"]),
        (&["gfx1100"], &["gfx1100", "gfx11-generic"]),
        (&["gfx1103"], &["gfx11-generic"]),
        (&["gfx11-generic"], &["gfx11-generic"]),
        (&["sm_80"], &["sm_80", "compute_80"]),
        (&["sm_89"], &["sm_80", "sm_86", "compute_80"]),
        (&["sm_90a"], &["sm_90a", "compute_80"]),
        (&["sm_120"], &["compute_80"]),
        (&["compute_90"], &["compute_80"]),
        (&["x86_64-unknown-linux-gnu"], &["x86_64-unknown-linux-gnu"]),
        (&["gfx1100", "sm_80"], &["gfx1100", "gfx11-generic", "sm_80", "compute_80"]),
    ] {
        let mut arguments = vec![text(&file)];
        asked.iter().for_each(|target| arguments.extend(["--target", target]));
        let found = extracted(&folder.join("out"), &arguments);
        let found: Vec<&str> =
            found.iter().map(|bytes| str::from_utf8(bytes).expect("text")).collect();
        assert_eq!(found, expected, "{asked:?}");
    }
    // If no image fits, the command prints the available ones and makes no folder.
    let (run, files) = extract(&folder.join("none"), &[text(&file), "--target", "gfx906"]);
    assert_fails(&run, &["no image for gfx906\n  there is:\n    gfx90a:xnack-\n"]);
    assert_eq!((files.len(), folder.join("none").exists()), (0, false));
    // If no image fits one of two targets, the image for the other is written.
    let (run, files) = extract(&folder.join("half"), &[text(&file), "-t", "gfx906", "-t", "sm_80"]);
    assert_eq!((run.code, files.len()), (1, 2));
    assert_eq!(run.stderr, "warning: no image for gfx906\n");
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
    for arguments in
        [&["fat_file/hip_nordc.o", "--exact", host][..], &["fat_file/hip_nordc.o", "--empty"]]
    {
        let (_, files) = extract(&folder.join("host"), arguments);
        assert_eq!(files["hip_nordc.o.0.host.x86_64-unknown-linux-gnu.bin"], b"");
    }
    let (run, files) = extract(&folder.join("quiet"), &["fat_file/hip_nordc.o", "-q"]);
    assert_eq!((run.stdout.as_str(), files.len()), ("", 1));
}

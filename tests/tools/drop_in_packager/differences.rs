//! Tests of intentional differences from LLVM's tool, with the results of both tools.

use super::{TOOL, case, case_in, inputs, names, several};
use crate::containers::{Image, binary};
use offload_format::compression::Method;
use offload_format::offload_binary::{OffloadBinaryBuilder, OffloadKind, StatedKind, Version};
use offload_tests::prelude::*;
use offload_tests::side_by_side::Whose;
use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt, symlink};

/// LLVM 22 reads only version 1, and allows no bytes between two offload binaries.
#[test(LLVM)]
fn later_versions_and_gaps() {
    let gfx906: &[_] = &[("triple", "amdgcn-amd-amdhsa"), ("arch", "gfx906")];
    let images: [Image<'_>; 2] = [
        (StatedKind::OBJECT, OffloadKind::HIP, gfx906, b"one"),
        (StatedKind::SPIRV, OffloadKind::SYCL, &[("triple", "spirv64")], b"two!"),
    ];
    let first = binary(Version::V1, &images[..1]);
    let mut builder = OffloadBinaryBuilder::new();
    builder.image(StatedKind::PTX, OffloadKind::CUDA, 1000).string("arch", "sm_80");
    let compressed = builder.compressed(Method::Zstd, None, &[&[7; 1000]]).unwrap();
    let (zero, one) = ("in-amdgcn-amd-amdhsa-gfx906.0.o", "in-amdgcn-amd-amdhsa-gfx906.1.o");
    for (what, bytes, expected) in [
        ("version 2", binary(Version::V2, &images), &[zero, "in-spirv64-.1.spv"][..]),
        ("version 3", binary(Version::V3, &images), &[zero, "in-spirv64-.1.spv"]),
        ("compressed", compressed, &["in--sm_80.0.s"]),
        ("zeros after", [&first[..], &[0; 8]].concat(), &[zero]),
        ("zeros between", [&first[..], &[0; 16], &first].concat(), &[zero, one]),
    ] {
        let (theirs, ours) = case_in(bytes, "--image=").both();
        let message =
            "llvm-offload-binary: error: Invalid data was encountered while parsing the file\n";
        assert_eq!(theirs.stderr, message, "{what}");
        let ours = ours.success();
        let mut found = names(&ours);
        found.retain(|name| name != "in");
        found.sort_unstable();
        assert_eq!(found, expected, "{what}");
        for name in found.iter().filter(|name| name.ends_with(".0.s")) {
            assert_eq!(ours.file(name), [7; 1000]);
        }
    }
}

#[test(LLVM)]
fn the_old_kind_of_hip() {
    let image = (StatedKind::OBJECT, OffloadKind::HIP_OLD, &[("arch", "gfx906")][..], &b"one"[..]);
    let old = binary(Version::V1, &[image]);
    let (theirs, ours) = case_in(old, "--image=kind=hip,file=out").both();
    assert_eq!(names(&theirs), ["in"]);
    assert_eq!(ours.file("out"), b"one");
}

#[test(LLVM)]
fn a_key_file_without_a_value() {
    let (theirs, ours) = case("-o out --image=file,triple=x").both();
    assert_eq!(theirs.success().file("out"), b"");
    assert_eq!(ours.stderr, "llvm-offload-binary: error: No such file or directory\n");
    assert_eq!(names(&ours), [""; 0]);
}

#[test(LLVM)]
fn names_stay_in_the_folder() {
    let long = "x".repeat(10_000);
    let cut = format!("in--{}.0.o", "x".repeat(247));
    let up: &[_] = &[("triple", "../../up"), ("arch", "/etc/passwd")];
    for (version, strings, name) in [
        (Version::V1, up, "in-.._.._up-_etc_passwd.0.o"),
        (Version::V1, &[("triple", "a/b")], "in-a_b-.0.o"),
        (Version::V1, &[("arch", "a\nb\u{1b}[31m")], "in--a_b_[31m.0.o"),
        (Version::V1, &[("arch", &long)], &cut),
        (Version::V2, &[("arch", "a\0b")], "in--a_b.0.o"),
    ] {
        let bytes = binary(version, &[(StatedKind::OBJECT, OffloadKind::HIP, strings, b"one")]);
        let ran = case("sub/in --image=").file("sub/in", bytes).run(Whose::Ours).success();
        assert_eq!(names(&ran), [name, "sub/in"]);
        assert_eq!(ran.file(name), b"one");
    }
}

#[test(LLVM)]
fn outputs_that_are_links() {
    let folder = scratch::folder("drop_in_packager/outputs_that_are_links");
    for (name, bytes) in inputs() {
        scratch::write(folder.join(name), bytes);
    }
    // For each tool: whether the link remains, whether its target remains, and the output's size.
    let [ours, theirs] = [own::tool(TOOL), llvm_bin().join(TOOL)].map(|tool| {
        for name in ["link", "target"] {
            let _ = fs::remove_file(folder.join(name));
        }
        scratch::write(folder.join("target"), "old");
        symlink("target", folder.join("link")).unwrap();
        succeed(Command::new(tool).current_dir(&folder).args(["-o", "link", "--image=file=one.o"]));
        let [link, target] = ["link", "target"].map(|name| folder.join(name));
        (link.is_symlink(), read(target) == b"old", read(link).len())
    });
    assert_eq!((ours.0, ours.1), (true, false));
    assert_eq!((theirs.0, theirs.1), (false, true));
    assert_eq!(ours.2, theirs.2);
}

#[test(LLVM)]
fn permissions_of_outputs() {
    let folder = scratch::folder("drop_in_packager/permissions_of_outputs");
    scratch::write(folder.join("one.o"), "one");
    let modes = [own::tool(TOOL), llvm_bin().join(TOOL)].map(|tool| {
        scratch::write(folder.join("out"), "old");
        let _ = fs::remove_file(folder.join("new"));
        fs::set_permissions(folder.join("out"), Permissions::from_mode(0o640)).unwrap();
        ["out", "new"].map(|output| {
            let arguments = ["-o", output, "--image=file=one.o"];
            succeed(Command::new(&tool).current_dir(&folder).args(arguments));
            fs::metadata(folder.join(output)).unwrap().permissions().mode() & 0o777
        })
    });
    let [[ours, our_new], [theirs, their_new]] = modes;
    assert_eq!((ours, our_new, theirs), (0o640, their_new, their_new));
}

#[test(LLVM)]
fn a_full_disk() {
    let full = "llvm-offload-binary: error: '/dev/full': No space left on device\n";
    for case in [
        case("-o /dev/full --image=file=one.o"),
        case_in(several(), "--image=file=/dev/full,arch=sm_80"),
    ] {
        let (theirs, ours) = case.both();
        let crash = "LLVM ERROR: IO failure on output stream: No space left on device\n";
        assert_eq!((theirs.stderr.as_str(), ours.stderr.as_str()), (crash, full));
        assert_eq!((&ours.status, names(&ours)), (&theirs.status, names(&theirs)));
    }
    // Only our tool runs: LLVM's would replace the device with an ordinary file.
    let archive = case_in(several(), "--archive --image=file=/dev/full,arch=sm_80");
    assert_eq!(archive.run(Whose::Ours).stderr, full);
    assert!(!Path::new("/dev/full").is_file());
}

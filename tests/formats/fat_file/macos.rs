//! Device code in libraries for macOS and in universal files, compared with LLVM 22's
//! `llvm-readobj` and `llvm-objdump`; also files that have only debug information.

use super::inputs::{INPUTS, USER, a_bundle, copied, in_folder, offload_binaries, our_object};
use super::{assert_both_are_there, assert_is_there, bundle_entries, containers, images};
use offload_format::fat_file::{Container, FileKind};
use offload_format::host_object::CargoTarget;
use offload_format::section::DeviceSection;
use offload_tests::data::read;
use offload_tests::registry::LLVM;
use offload_tests::scratch;
use offload_tests::tools::{llvm, stdout, succeed};

offload_tests::tests! {
    LLVM => [macos_and_universal_files, debug_files_have_nothing],
}

fn macos_and_universal_files() {
    let folder = scratch::folder("fat-file-macos");
    scratch::write(folder.join("user.c"), USER);
    let hosts =
        [("x86_64", "x86_64", "10.12", 0x0100_0007), ("aarch64", "arm64", "11.0", 0x0100_000c)];
    for (arch, name, version, _) in hosts {
        let target = CargoTarget { arch, os: "macos", pointer_width: "64", endian: "little" };
        let file = |end: &str| folder.join(format!("{name}{end}"));
        scratch::write(
            file(".hip.o"),
            our_object(&target, DeviceSection::HipFatbin, "pack_hip", &a_bundle()),
        );
        let llvm_object =
            our_object(&target, DeviceSection::LlvmOffloading, "pack_llvm", &offload_binaries());
        scratch::write(file(".llvm.o"), llvm_object);
        let mut clang = in_folder(llvm("clang"), &folder);
        clang.arg(format!("--target={name}-apple-macosx{version}")).args([
            "-ffreestanding",
            "-c",
            "user.c",
            "-o",
        ]);
        succeed(clang.arg(file(".user.o")));
        let mut ar = in_folder(llvm("llvm-ar"), &folder);
        succeed(
            ar.args(["--format=darwin", "crD"])
                .arg(file(".a"))
                .args([file(".hip.o"), file(".llvm.o")]),
        );
        let mut lld = in_folder(llvm("ld64.lld"), &folder);
        lld.args(["-arch", name, "-platform_version", "macos", version, version, "-dylib"]);
        succeed(
            lld.args([file(".user.o"), file(".hip.o"), file(".llvm.o")])
                .arg("-o")
                .arg(file(".dylib")),
        );
        assert_both_are_there(&file(".dylib"), "__hip_fatbin", "__offloading", "Offset:", "Size:");
    }
    for (end, members) in [(".dylib", [None, None]), (".a", [Some("hip.o"), Some("llvm.o")])] {
        let universal = folder.join(format!("universal{end}"));
        let thin = |name: &str| folder.join(format!("{name}{end}"));
        succeed(
            llvm("llvm-lipo")
                .arg("-create")
                .args(hosts.map(|host| thin(host.1)))
                .arg("-output")
                .arg(&universal),
        );
        let file = read(&universal);
        assert_eq!(FileKind::identify(&file), Some(FileKind::Universal));
        let listing = stdout(&succeed(
            llvm("llvm-objdump").args(["--macho", "--universal-headers"]).arg(&universal),
        ));
        let found = containers(&file);
        assert_eq!(found.len(), 4);
        for (_, name, _, processor) in hosts {
            let (_, block) =
                listing.split_once(&format!("architecture {name}\n")).expect("the slice is listed");
            let offset = block
                .lines()
                .find_map(|line| line.trim().strip_prefix("offset "))
                .expect("an offset");
            let offset: u64 = offset.trim().parse().expect("a number");
            let slice = read(thin(name));
            for ((place, container), (alone, _)) in found
                .iter()
                .filter(|(place, _)| place.slice == Some(processor))
                .zip(containers(&slice))
            {
                assert_eq!(
                    (place.offset, place.section),
                    (offset + alone.offset, alone.section),
                    "{name}"
                );
                let (Container::Bundles(bytes) | Container::OffloadBinaries(bytes)) = container
                else {
                    panic!()
                };
                assert_is_there(&file, place, bytes);
                assert_eq!(place.member.is_some(), members[0].is_some());
            }
        }
        assert_eq!(images(&file).len(), 4);
        assert_eq!(bundle_entries(&file).len(), 6);
    }
}

fn debug_files_have_nothing() {
    let folder = scratch::folder("fat-file-debug");
    scratch::write(folder.join("user.c"), USER);
    let target =
        CargoTarget { arch: "aarch64", os: "macos", pointer_width: "64", endian: "little" };
    scratch::write(
        folder.join("hip.o"),
        our_object(&target, DeviceSection::HipFatbin, "pack_hip", &a_bundle()),
    );
    let llvm_object =
        our_object(&target, DeviceSection::LlvmOffloading, "pack_llvm", &offload_binaries());
    scratch::write(folder.join("llvm.o"), llvm_object);
    let mut clang = in_folder(llvm("clang"), &folder);
    succeed(clang.args([
        "--target=arm64-apple-macosx11",
        "-ffreestanding",
        "-g",
        "-c",
        "user.c",
        "-o",
        "user.o",
    ]));
    let mut lld = in_folder(llvm("ld64.lld"), &folder);
    lld.args([
        "-arch",
        "arm64",
        "-platform_version",
        "macos",
        "11.0",
        "11.0",
        "-dylib",
        "-o",
        "image",
    ]);
    succeed(lld.args(["user.o", "hip.o", "llvm.o"]));
    succeed(in_folder(llvm("dsymutil"), &folder).args(["--flat", "image", "-o", "image.dwarf"]));
    assert_eq!(containers(&read(folder.join("image"))).len(), 2);
    assert!(containers(&read(folder.join("image.dwarf"))).is_empty());

    copied(&INPUTS, &folder, &["a.o"]);
    let mut objcopy = in_folder(llvm("llvm-objcopy"), &folder);
    succeed(objcopy.args(["--only-keep-debug", "a.o", "a.debug"]));
    assert!(containers(&read(folder.join("a.debug"))).is_empty());
}

//! Device code in objects and images for Windows, compared with LLVM 22's `llvm-readobj`.

use super::inputs::{USER, WINDOWS, a_bundle, in_folder, offload_binaries, our_object};
use super::{
    MINGW, assert_both_are_there, assert_images_are_listed, bundle_entries, containers, text,
};
use offload_format::fat_file::Container;
use offload_format::section::DeviceSection;
use offload_tests::data::read;
use offload_tests::judges::section_ranges;
use offload_tests::registry::LLVM;
use offload_tests::scratch;
use offload_tests::tools::{llvm, succeed};
use std::path::Path;
use std::process::Command;

offload_tests::tests! {
    LLVM => [images_for_windows],
    MINGW => [images_of_mingw],
}

/// Writes `hip.obj` and `llvm.obj` with this library, and `user.obj` and `embedded.obj` with clang.
fn windows_objects(folder: &Path, environment: &str) {
    scratch::write(
        folder.join("hip.obj"),
        our_object(&WINDOWS, DeviceSection::HipFatbin, "pack_hip", &a_bundle()),
    );
    let llvm_object =
        our_object(&WINDOWS, DeviceSection::LlvmOffloading, "pack_llvm", &offload_binaries());
    scratch::write(folder.join("llvm.obj"), llvm_object);
    scratch::write(folder.join("multi.bin"), offload_binaries());
    scratch::write(folder.join("user.c"), USER);
    scratch::write(folder.join("embedded.c"), "int embedded;");
    let target = format!("--target=x86_64-pc-windows-{environment}");
    for (name, embed) in [("user", false), ("embedded", true)] {
        let mut clang = in_folder(llvm("clang"), folder);
        clang.args([
            &target,
            "-ffreestanding",
            "-fno-stack-protector",
            "-O1",
            "-c",
            &format!("{name}.c"),
        ]);
        if embed {
            clang.args(["-Xclang", "-fembed-offload-object=multi.bin"]);
        }
        succeed(clang.args(["-o", &format!("{name}.obj")]));
    }
}

fn images_for_windows() {
    let folder = scratch::folder("fat-file-windows");
    windows_objects(&folder, "msvc");
    for name in ["embedded.obj", "llvm.obj"] {
        assert_images_are_listed(&folder.join(name), 2);
        let file = read(folder.join(name));
        let ranges = section_ranges(
            &folder.join(name),
            ".llvm.offloading",
            "PointerToRawData:",
            "RawDataSize:",
        );
        let [(place, Container::OffloadBinaries(bytes))] = containers(&file)[..] else {
            panic!("{name}")
        };
        assert_eq!(ranges, [(place.offset, bytes.len() as u64)]);
        assert_eq!(text(place.section), ".llvm.offloading");
    }
    let hip = read(folder.join("hip.obj"));
    assert_eq!(text(containers(&hip)[0].0.section), ".hip_fatbin");
    assert_eq!(bundle_entries(&hip).len(), 3);

    for options in [&[][..], &["/debug"], &["/opt:ref"], &["/lldmingw"]] {
        let mut lld = in_folder(llvm("lld-link"), &folder);
        lld.args(["/dll", "/noentry", "/out:image.dll", "/export:entry"]).args(options);
        succeed(lld.args(["user.obj", "embedded.obj", "hip.obj", "llvm.obj"]));
        // The linker leaves out the sections of `embedded.obj`.
        assert_both_are_there(
            &folder.join("image.dll"),
            ".hip_fat",
            ".llvm",
            "PointerToRawData:",
            "VirtualSize:",
        );
    }
}

fn images_of_mingw() {
    let folder = scratch::folder("fat-file-mingw");
    windows_objects(&folder, "gnu");
    let long = &["--enable-long-section-names"][..];
    for (options, hip, offloading) in
        [(&[][..], ".hip_fat", ".llvm.of"), (long, ".hip_fatbin", ".llvm.offloading")]
    {
        let mut ld = in_folder(Command::new("ld.bfd"), &folder);
        ld.args(["-m", "i386pep", "-shared", "-e", "0", "-o", "image.dll"]).args(options);
        succeed(ld.args(["user.obj", "hip.obj", "llvm.obj"]));
        assert_both_are_there(
            &folder.join("image.dll"),
            hip,
            offloading,
            "PointerToRawData:",
            "VirtualSize:",
        );
    }
}

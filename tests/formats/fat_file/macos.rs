//! Device code in libraries for macOS and in universal files, compared with LLVM 22's
//! `llvm-readobj` and `llvm-objdump`. Also searches files that contain only debug information.

use super::inputs::{INPUTS, USER, copied, our_objects};
use super::{assert_is_there, bundle_entries, containers, images};
use offload_format::fat_file::{Content, FileKind};
use offload_tests::prelude::*;

/// Writes `<name>.user.o` and our two objects, and links all three into `<name>.dylib`.
fn dylib(folder: &Path, arch: &'static str, name: &str, version: &str, options: &str) {
    our_objects(folder, &format!("{name}."), arch, "macos");
    scratch::write(folder.join("user.c"), USER);
    let target = format!("--target={name}-apple-macosx{version} -ffreestanding {options}");
    run(llvm("clang"), folder, &format!("{target} -c user.c -o {name}.user.o"));
    let inputs = format!("{name}.user.o {name}.hip.o {name}.llvm.o");
    let target = format!("-arch {name} -platform_version macos {version} {version}");
    run(llvm("ld64.lld"), folder, &format!("{target} -dylib {inputs} -o {name}.dylib"));
}

#[test(LLVM)]
fn macos_and_universal_files() {
    let folder = scratch::folder("fat-file-macos");
    let hosts =
        [("x86_64", "x86_64", "10.12", 0x0100_0007), ("aarch64", "arm64", "11.0", 0x0100_000c)];
    for (arch, name, version, _) in hosts {
        dylib(&folder, arch, name, version, "");
        let options = format!("--format=darwin crD {name}.a {name}.hip.o {name}.llvm.o");
        run(llvm("llvm-ar"), &folder, &options);
    }
    for (end, has_members) in [("dylib", false), ("a", true)] {
        let options = format!("-create x86_64.{end} arm64.{end} -output universal.{end}");
        run(llvm("llvm-lipo"), &folder, &options);
        let file = read(folder.join(format!("universal.{end}")));
        assert_eq!(FileKind::identify(&file), Some(FileKind::Universal));
        let options = format!("--macho --universal-headers universal.{end}");
        let listing = run(llvm("llvm-objdump"), &folder, &options);
        let found = containers(&file);
        assert_eq!(found.len(), 4);
        for (_, name, _, processor) in hosts {
            let block = listing.split_once(&format!("architecture {name}\n"));
            let (_, block) = block.expect("the slice is listed");
            let offset = block.lines().find_map(|line| line.trim().strip_prefix("offset "));
            let offset: u64 = offset.expect("an offset").trim().parse().expect("a number");
            let slice = read(folder.join(format!("{name}.{end}")));
            let in_slice = found.iter().filter(|(place, _)| place.slice == Some(processor));
            for ((place, container), (alone, _)) in in_slice.zip(containers(&slice)) {
                let expected = (offset + alone.offset, alone.section);
                assert_eq!((place.offset, place.section), expected, "{name}");
                let Content::Container(_, bytes) = container else { panic!() };
                assert_is_there(&file, place, bytes);
                assert_eq!(place.member.is_some(), has_members);
            }
        }
        assert_eq!(images(&file).len(), 4);
        assert_eq!(bundle_entries(&file).len(), 6);
    }
}

#[test(LLVM)]
fn debug_files_have_nothing() {
    let folder = scratch::folder("fat-file-debug");
    dylib(&folder, "aarch64", "arm64", "11.0", "-g");
    run(llvm("dsymutil"), &folder, "--flat arm64.dylib -o arm64.dwarf");
    assert_eq!(containers(&read(folder.join("arm64.dylib"))).len(), 2);
    assert!(containers(&read(folder.join("arm64.dwarf"))).is_empty());

    copied(&INPUTS, &folder, &["a.o"]);
    run(llvm("llvm-objcopy"), &folder, "--only-keep-debug a.o a.debug");
    assert!(containers(&read(folder.join("a.debug"))).is_empty());
}

//! Tests reading archives of every kind written by `llvm-ar`, `llvm-lib` and GNU `ar`.

use super::{NAMES, archive_of, listed, llvm_ar, members, object, read_members};
use offload_format::archive::Archive;
use offload_tests::prelude::*;

#[test(LLVM)]
fn every_kind_is_read() {
    for format in ["gnu", "bsd", "darwin", "coff"] {
        let folder = scratch::folder(&format!("archives-read-{format}"));
        let members = members(&folder);
        let bytes = llvm_ar(&folder, &format!("crD --format={format} x.a"), &NAMES);
        assert!(!Archive::parse(&bytes).unwrap().is_thin(), "{format}");
        if format != "darwin" {
            assert_eq!(read_members(&bytes), members, "{format}");
        } else {
            // In Darwin's format, a member's size is a multiple of 8 bytes.
            let found = read_members(&bytes);
            assert_eq!(found.len(), members.len());
            for ((name, bytes), (other, found)) in members.iter().zip(&found) {
                let (start, pad) = found.split_at(bytes.len());
                assert_eq!((other, start), (name, bytes.as_slice()));
                assert!(pad.len() < 8, "{name}: {pad:?}");
                assert!(pad.iter().all(|byte| *byte == b'\n'), "{name}: {pad:?}");
            }
        }
        assert_eq!(listed(llvm("llvm-ar"), &folder, "x.a"), NAMES, "{format}");
    }
}

#[test(LLVM)]
fn libraries_for_windows_are_read() {
    let folder = scratch::folder("archives-read-lib");
    let names = ["one.obj", "a_name_of_more_than_15_bytes.obj", "three.obj"];
    for (number, name) in names.iter().enumerate() {
        let source =
            format!("int z{number}(void){{return 1;}} int common_{number}; int a{number} = 3;");
        scratch::write(folder.join(name), object(&folder, "x86_64-pc-windows-msvc", &source));
    }
    run(llvm("llvm-lib"), &folder, &format!("/out:x.lib {}", names.join(" ")));
    scratch::write(folder.join("x.def"), "LIBRARY x.dll\nEXPORTS\n  one\n  two\n");
    run(llvm("llvm-lib"), &folder, "/def:x.def /machine:x64 /out:import.lib");
    for name in ["x.lib", "import.lib"] {
        let bytes = read(folder.join(name));
        let names: Vec<String> = read_members(&bytes).into_iter().map(|(name, _)| name).collect();
        assert_eq!(listed(llvm("llvm-ar"), &folder, name), names);
    }
}

#[test(LLVM)]
fn thin_archives_are_read() {
    let folder = scratch::folder("archives-read-thin");
    let members = members(&folder);
    fs::create_dir(folder.join("sub")).unwrap();
    let last = object(&folder, "x86_64-linux-gnu", "int g(void){return 1;}");
    scratch::write(folder.join("sub/b.o"), &last);
    let bytes = llvm_ar(&folder, "crD --thin x.a", &[&NAMES[..], &["sub/b.o"]].concat());
    let archive = Archive::parse(&bytes).unwrap();
    assert!(archive.is_thin());
    let found: Vec<_> = archive.members().map(|it| (it.name, it.size, it.data)).collect();
    let expected = members.iter().map(|(name, bytes)| (name.as_bytes(), bytes.len() as u64, None));
    let expected = expected.chain([(&b"sub/b.o"[..], last.len() as u64, None)]);
    assert_eq!(found, expected.collect::<Vec<_>>());
}

#[test(CLANG)]
fn archives_of_gnu_ar_are_read() {
    let folder = scratch::folder("archives-read-gnu-ar");
    let members = members(&folder);
    succeed(in_folder(Command::new("ar"), &folder, "crU x.a").args(NAMES));
    let bytes = read(folder.join("x.a"));
    assert_eq!(read_members(&bytes), members);
    // GNU `ar` must also list our archive.
    scratch::write(folder.join("ours.a"), archive_of(&members));
    assert_eq!(listed(Command::new("ar"), &folder, "ours.a"), NAMES);
}

/// Tests an archive without the padding byte after the last member, which some archivers omit.
#[test(LLVM)]
fn a_last_member_without_padding() {
    let folder = scratch::folder("archives-no-padding");
    scratch::write(folder.join("odd"), "abc");
    let bytes = llvm_ar(&folder, "crD x.a", &["odd"]);
    assert_eq!(read_members(&bytes[..bytes.len() - 1]), [("odd".to_owned(), b"abc".to_vec())]);
}

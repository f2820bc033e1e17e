//! Tests reading archives of every kind that `llvm-ar`, `llvm-lib` and GNU `ar` wrote.

use super::{NAMES, archive_of, armap, members, object, our_armap, read_members};
use offload_format::archive::{Archive, Kind};
use offload_tests::data::read;
use offload_tests::registry::{CLANG, LLVM};
use offload_tests::scratch;
use offload_tests::tools::{llvm, stdout, succeed};
use std::fs;
use std::process::Command;

offload_tests::tests! {
    LLVM => [every_kind_is_read, libraries_for_windows_are_read, thin_archives_are_read, a_last_member_without_padding],
    CLANG => [archives_of_gnu_ar_are_read],
}

fn every_kind_is_read() {
    for (format, kind) in
        [("gnu", Kind::Gnu), ("bsd", Kind::Bsd), ("darwin", Kind::Bsd), ("coff", Kind::Coff)]
    {
        let folder = scratch::folder(&format!("archives-read-{format}"));
        let members = members(&folder);
        let mut tool = llvm("llvm-ar");
        tool.current_dir(&folder).args(["crD", &format!("--format={format}"), "x.a"]).args(NAMES);
        succeed(&mut tool);
        let bytes = read(folder.join("x.a"));
        let archive = Archive::parse(&bytes).unwrap();
        assert_eq!((archive.kind(), archive.is_thin()), (kind, false), "{format}");
        if format != "darwin" {
            assert_eq!(read_members(&bytes), members, "{format}");
        } else {
            // In this format, the size of a member is a multiple of 8 bytes.
            let found = read_members(&bytes);
            assert_eq!(found.len(), members.len());
            for ((name, bytes), (other, found)) in members.iter().zip(&found) {
                let (start, pad) = found.split_at(bytes.len());
                assert_eq!((other, start), (name, bytes.as_slice()));
                assert!(pad.len() < 8, "{name}: {pad:?}");
                assert!(pad.iter().all(|byte| *byte == b'\n'), "{name}: {pad:?}");
            }
        }
        let listed = stdout(&succeed(llvm("llvm-ar").current_dir(&folder).args(["t", "x.a"])));
        assert_eq!(listed.lines().collect::<Vec<_>>(), NAMES, "{format}");
        let symbols = our_armap(&bytes);
        assert_eq!(symbols, armap(&folder, "x.a"), "{format}");
        // Microsoft's format lists each symbol once.
        assert_eq!(symbols.len(), if kind == Kind::Coff { 2 } else { 6 }, "{format}");
        for member in archive.members() {
            assert_eq!(
                (member.modified(), member.owner(), member.mode()),
                (Some(0), Some(0), Some(0o644)),
                "{format}"
            );
        }
    }
}

fn libraries_for_windows_are_read() {
    let folder = scratch::folder("archives-read-lib");
    let mut tool = llvm("llvm-lib");
    tool.current_dir(&folder).arg("/out:x.lib");
    for (number, name) in
        ["one.obj", "a_name_of_more_than_15_bytes.obj", "three.obj"].iter().enumerate()
    {
        let source =
            format!("int z{number}(void){{return 1;}} int common_{number}; int a{number} = 3;");
        scratch::write(folder.join(name), object(&folder, "x86_64-pc-windows-msvc", &source));
        tool.arg(name);
    }
    succeed(&mut tool);
    scratch::write(folder.join("x.def"), "LIBRARY x.dll\nEXPORTS\n  one\n  two\n");
    succeed(llvm("llvm-lib").current_dir(&folder).args([
        "/def:x.def",
        "/machine:x64",
        "/out:import.lib",
    ]));
    for (name, symbols) in [("x.lib", 9), ("import.lib", 7)] {
        let bytes = read(folder.join(name));
        assert_eq!(Archive::parse(&bytes).unwrap().kind(), Kind::Coff);
        let found = our_armap(&bytes);
        assert_eq!(found, armap(&folder, name));
        assert_eq!(found.len(), symbols, "{found:?}");
        let listed = stdout(&succeed(llvm("llvm-ar").current_dir(&folder).args(["t", name])));
        let names: Vec<String> = read_members(&bytes).into_iter().map(|(name, _)| name).collect();
        assert_eq!(listed.lines().collect::<Vec<_>>(), names);
    }
}

fn thin_archives_are_read() {
    let folder = scratch::folder("archives-read-thin");
    let members = members(&folder);
    fs::create_dir(folder.join("sub")).unwrap();
    scratch::write(
        folder.join("sub/b.o"),
        object(&folder, "x86_64-linux-gnu", "int g(void){return 1;}"),
    );
    let mut tool = llvm("llvm-ar");
    succeed(tool.current_dir(&folder).args(["crD", "--thin", "x.a"]).args(NAMES).arg("sub/b.o"));
    let bytes = read(folder.join("x.a"));
    let archive = Archive::parse(&bytes).unwrap();
    assert!(archive.is_thin());
    let found: Vec<_> = archive.members().map(|it| (it.name(), it.size(), it.data())).collect();
    let last = read(folder.join("sub/b.o"));
    let expected = members.iter().map(|(name, bytes)| (name.as_bytes(), bytes.len() as u64, None));
    let expected = expected.chain([(&b"sub/b.o"[..], last.len() as u64, None)]);
    assert_eq!(found, expected.collect::<Vec<_>>());
    assert_eq!(our_armap(&bytes), armap(&folder, "x.a"));
}

fn archives_of_gnu_ar_are_read() {
    let folder = scratch::folder("archives-read-gnu-ar");
    let members = members(&folder);
    succeed(Command::new("ar").current_dir(&folder).args(["crU", "x.a"]).args(NAMES));
    let bytes = read(folder.join("x.a"));
    assert_eq!(read_members(&bytes), members);
    assert_eq!(our_armap(&bytes), armap(&folder, "x.a"));
    let archive = Archive::parse(&bytes).unwrap();
    let first = archive.members().next().unwrap();
    let file = fs::metadata(folder.join(NAMES[0])).unwrap();
    let modified =
        file.modified().unwrap().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    assert_eq!(first.modified(), Some(modified));
    // GNU `ar` also lists our archive.
    scratch::write(folder.join("ours.a"), archive_of(&members));
    let listed = stdout(&succeed(Command::new("ar").current_dir(&folder).args(["t", "ours.a"])));
    assert_eq!(listed.lines().collect::<Vec<_>>(), NAMES);
}

/// The padding byte after the last member may be missing: some archivers omit it.
fn a_last_member_without_padding() {
    let folder = scratch::folder("archives-no-padding");
    scratch::write(folder.join("odd"), "abc");
    succeed(llvm("llvm-ar").current_dir(&folder).args(["crD", "x.a", "odd"]));
    let bytes = read(folder.join("x.a"));
    assert_eq!(read_members(&bytes[..bytes.len() - 1]), [("odd".to_owned(), b"abc".to_vec())]);
}

//! Archives that this library writes have the same bytes as those of `llvm-ar`, and `llvm-ar` and
//! GNU `ar` read them.

use super::{archive_of, armap, bitcode, members, object, our_armap, read_members};
use offload_format::archive::{Archive, ArchiveBuilder, Kind, WriteError, write_darwin_library};
use offload_tests::data::{Random, assert_same_bytes, read, some_bytes};
use offload_tests::registry::{CLANG, LLVM, NOTHING};
use offload_tests::scratch;
use offload_tests::tools::{llvm, stdout, succeed};
use std::fs;
use std::path::Path;
use std::process::Command;

offload_tests::tests! {
    LLVM => [ours_are_llvms, libraries_for_macos_are_llvms, random_archives],
    CLANG => [a_member_named_like_a_symbol_table],
    NOTHING => [what_the_format_cannot_hold],
}

/// Asserts that our archive equals that of `llvm-ar`. Each file is in a separate folder, so names
/// may repeat.
#[track_caller]
fn compare(folder: &Path, members: &[(String, Vec<u8>)]) {
    let _ = fs::remove_file(folder.join("theirs.a"));
    let mut tool = llvm("llvm-ar");
    tool.current_dir(folder).args(["--format=gnu", "qcD", "theirs.a"]);
    for (number, (name, bytes)) in members.iter().enumerate() {
        let path = format!("{number}/{name}");
        scratch::write(folder.join(&path), bytes);
        tool.arg(path);
    }
    succeed(&mut tool);
    let ours = archive_of(members);
    let names: Vec<_> = members.iter().map(|(name, bytes)| (name, bytes.len())).collect();
    assert_same_bytes(&ours, &read(folder.join("theirs.a")), &format!("{names:?}"));
    assert_eq!(read_members(&ours), members);
}

fn ours_are_llvms() {
    let folder = scratch::folder("archives-write");
    let members = members(&folder);
    compare(&folder, &[]);
    compare(&folder, &members);
    for count in 1..members.len() {
        compare(&folder, &members[count..]);
        compare(&folder, &members[..=count]);
    }
    let twice: Vec<_> = members.iter().chain(&members).cloned().collect();
    compare(&folder, &twice);
    // An object with many symbols.
    let source: String =
        (0..500).map(|it| format!("int symbol_{it}(void) {{ return {it}; }}\n")).collect();
    compare(&folder, &[("many.o".to_owned(), object(&folder, "x86_64-linux-gnu", &source))]);
}

/// Tests payloads and names of every size modulo the alignment.
fn libraries_for_macos_are_llvms() {
    let folder = scratch::folder("archives-macos");
    for number in 0..8 {
        let member = format!("{}.o", "m".repeat(number + 1));
        let symbol = format!("f{}", "n".repeat(number));
        let source = format!("char {symbol}[{}] = {{1}};\n", 1000 + 8 * number);
        let bytes = object(&folder, "arm64-apple-macos11", &source);
        // A reader ignores bytes after an object; here, they make the object's size odd.
        let bytes = [bytes, vec![0; number]].concat();
        scratch::write(folder.join(&member), &bytes);
        let theirs = format!("{number}.a");
        let mut tool = llvm("llvm-ar");
        succeed(tool.current_dir(&folder).args(["crD", "--format=darwin", &theirs, &member]));
        let ours = write_darwin_library(&member, &format!("_{symbol}"), bytes.len() as u64)
            .to_vec(&[&bytes]);
        assert_same_bytes(&ours, &read(folder.join(&theirs)), &theirs);
        let archive = Archive::parse(&ours).unwrap();
        assert_eq!(archive.kind(), Kind::Bsd);
        assert_eq!(our_armap(&ours), armap(&folder, &theirs));
    }
}

fn a_member_named_like_a_symbol_table() {
    let folder = scratch::folder("archives-write-symdef");
    let members = ["__.SYMDEF", "other"].map(|name| (name.to_owned(), b"text".to_vec()));
    for (name, bytes) in &members {
        scratch::write(folder.join(name), bytes);
    }
    succeed(llvm("llvm-ar").current_dir(&folder).args([
        "--format=gnu",
        "crD",
        "theirs.a",
        "__.SYMDEF",
        "other",
    ]));
    scratch::write(folder.join("ours.a"), archive_of(&members));
    assert_eq!(read_members(&read(folder.join("ours.a"))), members);
    for tool in ["llvm-ar", "ar"] {
        let list = |archive| {
            let mut tool = if tool == "ar" { Command::new(tool) } else { llvm(tool) };
            let output = tool.current_dir(&folder).args(["t", archive]).output().unwrap();
            output.status.success().then(|| stdout(&output))
        };
        assert_ne!(list("theirs.a").as_deref(), Some("__.SYMDEF\nother\n"), "{tool}");
        assert_eq!(list("ours.a").as_deref(), Some("__.SYMDEF\nother\n"), "{tool}");
    }
}

fn random_archives() {
    let folder = scratch::folder("archives-write-random");
    let objects = [
        object(&folder, "x86_64-linux-gnu", "int f(void){return 1;} int common_v;"),
        object(&folder, "x86_64-pc-windows-msvc", "int g(void){return 1;}"),
        bitcode(&folder, "x86_64-linux-gnu", "int hh(void){return 1;}"),
    ];
    let mut random = Random::new(7);
    for _ in 0..40 {
        let members = (0..random.below(8)).map(|_| {
            let mut name: String = (0..1 + random.below(40))
                .map(|_| "abc. -_+:"[random.below(9)..][..1].to_owned())
                .collect();
            // Without the `x`, the name could be reserved by the file system, or be an option.
            name.insert(0, 'x');
            let bytes = match random.below(6) {
                kind @ 0..3 => objects[kind].clone(),
                _ => some_bytes(random.below(99), random.below(300)),
            };
            (name, bytes)
        });
        compare(&folder, &members.collect::<Vec<_>>());
    }
}

fn what_the_format_cannot_hold() {
    let mut builder = ArchiveBuilder::new();
    for name in ["", "a\nb"] {
        assert_eq!(builder.member(name, 1).unwrap_err(), WriteError::Name(name.into()));
    }
    assert_eq!(builder.member("a", 10_000_000_000).unwrap_err(), WriteError::Size(10_000_000_000));
    assert_eq!(
        builder.object("a", 1, ["fine", "a\0b"]).unwrap_err(),
        WriteError::SymbolName(b"a\0b".into())
    );
    assert_eq!(builder.layout().to_vec(&[]), b"!<arch>\n");
    let max = 9_999_999_999;
    assert_eq!(builder.member("a", max).unwrap().layout().size(), 8 + 60 + max + 1);
}

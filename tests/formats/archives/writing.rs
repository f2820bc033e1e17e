//! Archives from this library must have the same bytes as `llvm-ar`'s, and `llvm-ar` and GNU `ar`
//! must read them.

use super::*;
use offload_format::archive::{ArchiveBuilder, WriteError, write_darwin_library};

/// Asserts that our archive equals `llvm-ar`'s. Writes each file into a separate folder, so names
/// may repeat.
#[track_caller]
fn compare(folder: &Path, members: &[Member]) {
    let _ = fs::remove_file(folder.join("theirs.a"));
    let mut paths = Vec::new();
    for (number, (name, bytes)) in members.iter().enumerate() {
        paths.push(format!("{number}/{name}"));
        scratch::write(folder.join(&paths[number]), bytes);
    }
    let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
    let theirs = llvm_ar(folder, "--format=gnu qcD theirs.a", &paths);
    let ours = archive_of(members);
    let names: Vec<_> = members.iter().map(|(name, bytes)| (name, bytes.len())).collect();
    assert_same_bytes(&ours, &theirs, &format!("{names:?}"));
    assert_eq!(read_members(&ours), members);
}

#[test(LLVM)]
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
    // Test an object with many symbols.
    let source: String =
        (0..500).map(|it| format!("int symbol_{it}(void) {{ return {it}; }}\n")).collect();
    compare(&folder, &[("many.o".to_owned(), object(&folder, "x86_64-linux-gnu", &source))]);
}

/// Tests payloads and names of every size modulo the alignment.
#[test(LLVM)]
fn libraries_for_macos_are_llvms() {
    let folder = scratch::folder("archives-macos");
    for number in 0..8 {
        let member = format!("{}.o", "m".repeat(number + 1));
        let symbol = format!("f{}", "n".repeat(number));
        let source = format!("char {symbol}[{}] = {{1}};\n", 1000 + 8 * number);
        let bytes = object(&folder, "arm64-apple-macos11", &source);
        // Readers ignore bytes after an object. Here, these bytes give the members different sizes.
        let bytes = [bytes, vec![0; number]].concat();
        scratch::write(folder.join(&member), &bytes);
        let name = format!("{number}.a");
        let theirs = llvm_ar(&folder, &format!("crD --format=darwin {name}"), &[&member]);
        let ours = write_darwin_library(&member, &format!("_{symbol}"), bytes.len() as u64)
            .to_vec(&[&bytes]);
        assert_same_bytes(&ours, &theirs, &name);
        assert_eq!(our_armap(&ours), armap(&folder, &name));
    }
}

#[test(CLANG)]
fn a_member_named_like_a_symbol_table() {
    let folder = scratch::folder("archives-write-symdef");
    let members = ["__.SYMDEF", "other"].map(|name| (name.to_owned(), b"text".to_vec()));
    for (name, bytes) in &members {
        scratch::write(folder.join(name), bytes);
    }
    llvm_ar(&folder, "--format=gnu crD theirs.a", &["__.SYMDEF", "other"]);
    scratch::write(folder.join("ours.a"), archive_of(&members));
    assert_eq!(read_members(&read(folder.join("ours.a"))), members);
    for tool in [|| llvm("llvm-ar"), || Command::new("ar")] {
        let is_whole = |archive| listed(tool(), &folder, archive) == ["__.SYMDEF", "other"];
        assert!(!succeeds(tool(), &folder, "t theirs.a") || !is_whole("theirs.a"));
        assert!(is_whole("ours.a"));
    }
}

#[test(LLVM)]
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
            // Start with `x`; otherwise, the name could look like an option or be reserved by the
            // file system.
            let mut name = "x".to_owned();
            for _ in 0..1 + random.below(40) {
                name.push(random.pick(&['a', 'b', 'c', '.', ' ', '-', '_', '+', ':']));
            }
            let bytes = match random.below(6) {
                kind @ 0..3 => objects[kind].clone(),
                _ => some_bytes(random.below(99), random.below(300)),
            };
            (name, bytes)
        });
        compare(&folder, &members.collect::<Vec<_>>());
    }
}

#[test]
fn what_the_format_cannot_hold() {
    let mut builder = ArchiveBuilder::new();
    for name in ["", "a\nb"] {
        assert_eq!(builder.member(name, 1).unwrap_err(), WriteError::Name(name.into()));
    }
    assert_eq!(builder.member("a", 10_000_000_000).unwrap_err(), WriteError::Size(10_000_000_000));
    let error = builder.object("a", 1, ["fine", "a\0b"]).unwrap_err();
    assert_eq!(error, WriteError::SymbolName(b"a\0b".into()));
    assert_eq!(builder.layout().to_vec(&[]), b"!<arch>\n");
    let max = 9_999_999_999;
    assert_eq!(builder.member("a", max).unwrap().layout().size(), 8 + 60 + max + 1);
}

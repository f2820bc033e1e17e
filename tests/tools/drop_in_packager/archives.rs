//! Tests of archives: as outputs, with `--archive`, and as inputs.

use super::{archive, assert_fails, binary, case, packed, several};
use crate::corpus_bytes;
use offload_format::offload_binary::{ImageKind, OffloadKind, Version};
use offload_tests::data::{corpus, read};
use offload_tests::registry::LLVM;
use offload_tests::scratch;
use offload_tests::side_by_side::Whose;
use offload_tests::tools::{llvm, succeed};
use std::path::Path;

offload_tests::tests! {
    LLVM => [archives_are_written, archives_are_read, thin_archives],
}

/// Returns a real object, so that the archive has a symbol table.
fn object() -> Vec<u8> {
    let folder = scratch::folder("drop_in_packager/object");
    scratch::write(
        folder.join("k.c"),
        "int answer(void) { return 42; } static int hidden; int *also(void) { return &hidden; }",
    );
    succeed(llvm("clang").current_dir(&folder).args(["-c", "k.c", "-o", "k.o"]));
    read(folder.join("k.o"))
}

fn archives_are_written() {
    let object = object();
    let binary = binary(
        Version::V1,
        &[
            (ImageKind::OBJECT, OffloadKind::HIP, &[("arch", "a")], &object),
            (ImageKind::PTX, OffloadKind::CUDA, &[("arch", "b")], b"ptx"),
            (ImageKind::OBJECT, OffloadKind::HIP, &[("arch", "b")], &object),
        ],
    );
    for image in [
        "--image=file=lib.a",
        "--image=file=lib.a,kind=hip",
        "--image=file=lib.a,arch=b",
        "--image=file=lib.a,arch=c",
    ] {
        for name in ["in", "a-name-of-more-than-fifteen-bytes.bin", "dir/in"] {
            let ran = case(&[name, "--archive", image]).file(name, binary.clone()).assert_same();
            assert!(ran.succeeded());
            assert_eq!(ran.files.contains_key(Path::new("lib.a")), !image.ends_with("arch=c"));
        }
    }
    let missing = "llvm-offload-binary: error: Image must have a 'file' argument.\n";
    for image in ["--image=", "--image=kind=hip"] {
        assert_fails(&case(&["in", "--archive", image]).file("in", binary.clone()), missing);
    }
    // A filter that matches no image needs no `file`.
    assert!(
        case(&["in", "--archive", "--image=arch=c"])
            .file("in", binary.clone())
            .assert_same()
            .succeeded()
    );
    let first = case(&["in", "--archive", "--image=file=lib.a,kind=hip", "--image=kind=cuda"]);
    let ran = first.file("in", binary.clone()).assert_same();
    assert!(!ran.succeeded());
    assert!(ran.files.contains_key(Path::new("lib.a")), "the first archive is not there");
    assert!(
        !case(&["in", "--archive", "--image=file=nowhere/lib.a"])
            .file("in", binary)
            .assert_same()
            .succeeded()
    );
    for file in corpus("offload_binary") {
        case(&["in", "--archive", "--image=file=out.a"]).file("in", read(file)).assert_same();
    }
}

fn archives_are_read() {
    let files = [
        ("llvm_offloading.o", corpus_bytes("fat_file/llvm_offloading.o")),
        ("text", b"no object".to_vec()),
        ("a-long-name-for-a-member.o", corpus_bytes("fat_file/llvm_offloading.obj")),
        ("images.bin", several()),
    ];
    for options in ["rcD", "rcSD"] {
        let library = read(archive("archives_are_read", options, &files));
        for arguments in [
            &["lib.a", "--image="][..],
            &["lib.a", "--archive", "--image=file=out.a"],
            &["lib.a", "--image=kind=cuda"],
        ] {
            let ran = case(arguments).file("lib.a", library.clone()).assert_same();
            assert!(ran.succeeded());
        }
    }
    let inner = read(archive("archives_in_archives", "rcD", &files));
    let outer = read(archive(
        "archives_outside",
        "rcD",
        &[("inner.a", inner), ("llvm_offloading.o", files[0].1.clone())],
    ));
    let ran =
        case(&["outer.a", "--archive", "--image=file=x.a"]).file("outer.a", outer).assert_same();
    assert!(ran.succeeded(), "{}", ran.stderr);
    assert!(ran.files.contains_key(Path::new("x.a")), "no archive is written");
}

fn thin_archives() {
    let files =
        [("images.bin", several()), ("dir/more.bin", packed(&["--image=file=one.o,arch=x"]))];
    let library = read(archive("thin_archives", "rcTD", &files));
    for place in ["", "elsewhere/"] {
        for arguments in [&["--image="][..], &["--archive", "--image=file=out.a"]] {
            let name = format!("{place}lib.a");
            let mut arguments = arguments.to_vec();
            arguments.push(&name);
            let mut case = case(&arguments).file(&name, library.clone());
            for (file, bytes) in &files {
                case = case.file(format!("{place}{file}"), bytes.clone());
            }
            assert!(case.assert_same().succeeded());
        }
    }
    let ran = case(&["lib.a", "--image="]).file("lib.a", library).assert_same();
    assert_eq!(ran.stderr, "llvm-offload-binary: error: 'images.bin': No such file or directory\n");
    // This thin archive names itself as a member, which is an error.
    let own = b"!<thin>\nlib.a/          0           0     0     644     8         `\n";
    let ran = case(&["lib.a", "--image="]).file("lib.a", own).run(Whose::Ours);
    assert_eq!(
        ran.stderr,
        "llvm-offload-binary: error: 'lib.a': thin archives that name each other\n"
    );
}

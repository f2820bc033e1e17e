//! Tests of archives: as outputs with `--archive`, and as inputs.

use super::{archive, case, case_in, packed, several};
use crate::containers::binary;
use offload_format::offload_binary::{OffloadKind, StatedKind, Version};
use offload_tests::prelude::*;
use offload_tests::side_by_side::Whose;

/// Returns a real object, so that the archive gets a symbol table.
fn object() -> Vec<u8> {
    let folder = scratch::folder("drop_in_packager/object");
    let source =
        "int answer(void) { return 42; } static int hidden; int *also(void) { return &hidden; }";
    scratch::write(folder.join("k.c"), source);
    succeed(llvm("clang").current_dir(&folder).args(["-c", "k.c", "-o", "k.o"]));
    read(folder.join("k.o"))
}

#[test(LLVM)]
fn archives_are_written() {
    let object = object();
    let images = [
        (StatedKind::OBJECT, OffloadKind::HIP, &[("arch", "a")][..], &object[..]),
        (StatedKind::PTX, OffloadKind::CUDA, &[("arch", "b")], b"ptx"),
        (StatedKind::OBJECT, OffloadKind::HIP, &[("arch", "b")], &object),
    ];
    let binary = binary(Version::V1, &images);
    for image in ["", ",kind=hip", ",arch=b", ",arch=c"] {
        for name in ["in", "a-name-of-more-than-fifteen-bytes.bin", "dir/in"] {
            let case = case(&format!("{name} --archive --image=file=lib.a{image}"));
            let ran = case.file(name, binary.clone()).assert_same().success();
            assert_eq!(ran.files.contains_key(Path::new("lib.a")), image != ",arch=c");
        }
    }
    let case = |images: &str| case_in(binary.clone(), &format!("--archive {images}"));
    let missing = "llvm-offload-binary: error: Image must have a 'file' argument.\n";
    case("--image=").assert_same_error(missing);
    case("--image=kind=hip").assert_same_error(missing);
    // A filter that matches no image needs no `file`.
    case("--image=arch=c").assert_same().success();
    let ran = case("--image=file=lib.a,kind=hip --image=kind=cuda").assert_same().failure("");
    assert!(ran.files.contains_key(Path::new("lib.a")), "the first archive is not there");
    case("--image=file=nowhere/lib.a").assert_same().failure("");
    for file in corpus("offload_binary") {
        case_in(read(file), "--archive --image=file=out.a").assert_same();
    }
}

#[test(LLVM)]
fn archives_are_read() {
    let files = [
        ("llvm_offloading.o", corpus_file("fat_file/llvm_offloading.o")),
        ("text", b"no object".to_vec()),
        ("a-long-name-for-a-member.o", corpus_file("fat_file/llvm_offloading.obj")),
        ("images.bin", several()),
    ];
    for options in ["rcD", "rcSD"] {
        let library = archive("archives_are_read", options, &files);
        for options in ["--image=", "--archive --image=file=out.a", "--image=kind=cuda"] {
            case(&format!("lib.a {options}"))
                .file("lib.a", library.clone())
                .assert_same()
                .success();
        }
    }
    let inner = archive("archives_in_archives", "rcD", &files);
    let members = [("inner.a", inner), ("llvm_offloading.o", files[0].1.clone())];
    let outer = archive("archives_outside", "rcD", &members);
    let ran = case_in(outer, "--archive --image=file=x.a").assert_same().success();
    assert!(ran.files.contains_key(Path::new("x.a")), "no archive is written");
}

#[test(LLVM)]
fn thin_archives() {
    let files = [("images.bin", several()), ("dir/more.bin", packed("--image=file=one.o,arch=x"))];
    let library = archive("thin_archives", "rcTD", &files);
    for place in ["", "elsewhere/"] {
        for options in ["--image=", "--archive --image=file=out.a"] {
            let name = format!("{place}lib.a");
            let mut case = case(&format!("{options} {name}")).file(&name, library.clone());
            for (file, bytes) in &files {
                case = case.file(format!("{place}{file}"), bytes.clone());
            }
            case.assert_same().success();
        }
    }
    let case = case("lib.a --image=");
    let missing = "llvm-offload-binary: error: 'images.bin': No such file or directory\n";
    case.clone().file("lib.a", library).assert_same_error(missing);
    // This thin archive lists itself as a member, which must be an error.
    let own = b"!<thin>\nlib.a/          0           0     0     644     8         `\n";
    let itself = "llvm-offload-binary: error: 'lib.a': thin archives nested more than 8 deep\n";
    assert_eq!(case.file("lib.a", own).run(Whose::Ours).stderr, itself);
}

//! Tests that write offload binaries: images, their strings, inputs and outputs.

use super::{TOOL, case, case_in, case_of, inputs, names, several};
use offload_tests::prelude::*;
use offload_tests::side_by_side::Whose;

#[test(LLVM)]
fn images_of_all_kinds_are_packed() {
    // The tool packs each image separately, so one command line can pack all of them.
    let mut line = "-o out".to_owned();
    for (name, _) in inputs() {
        line += &format!(" --image=file={name},triple=amdgcn-amd-amdhsa,arch=gfx906");
        for kind in ["openmp", "cuda", "hip", "sycl", "none", "HIP", ""] {
            line += &format!(" --image=file={name},kind={kind},triple=x,arch=y");
        }
    }
    case(&line).assert_same().success();
    let mut all = case(
        "-o out --image=file=x.O --image=file=x.o.bc --image=file=.o --image=file=a.b/x \
                        --image=file=x. --image=file=x.hsaco --image=file=dir/x.ptx --image=file=wrapped",
    );
    for name in ["x.O", "x.o.bc", ".o", "a.b/x", "x.", "x.hsaco", "dir/x.ptx"] {
        all = all.file(name, b"bytes");
    }
    // These bytes start like bitcode in a wrapper.
    let wrapped = [b"\xde\xc0\x17\x0b".as_slice(), &[0; 40]].concat();
    all.file("wrapped", wrapped).assert_same().success();
    assert_eq!(case("-o out").assert_same().file("out"), b"");
}

#[test(LLVM)]
fn what_image_takes() {
    let images = [
        "file=one.o",
        "file=one.o,kind=hip,kind=cuda",
        "file=one.o,triple=t,triple=u,arch=,=v",
        "file=one.o,=",
        "file=one.o,,,",
        "file=one.o,flag",
        "file=one.o,flag,flag=x",
        "file=one.o,opts=-O2 -g=1=2",
        "kind=sycl,arch=a,triple=b,file=one.o,feature=+ptx63,alpha=1,beta=22,gamma=333,delta=4444",
        "file=one.o,file=two.cubin,triple=t",
        "triple=t,file=one.o,kind=hip,file=one.o",
        "file=one.o,arch=gfx90a:sramecc+:xnack-",
        "file=one.o,a-very-long-key-name-that-exceeds-thirty-two-bytes=v,and-one-that-is-longer-than-sixty-four-bytes-so-that-it-takes-two-blocks=w",
        "file=one.o,arch=ä",
        "file=./one.o,File=x",
    ];
    let images = images.map(|image| format!("--image={image}"));
    let images = images.iter().map(String::as_str);
    case_of(TOOL, ["-o", "out"].into_iter().chain(images)).assert_same().success();
    let fails = |images: &str, message: &str| {
        let message = format!("llvm-offload-binary: error: {message}\n");
        case(&format!("-o out {images}")).assert_same_error(&message);
    };
    // The help claims that an image needs the key `triple`, but both tools require only `file`.
    for image in ["", "triple=x", "files=one.o", "FILE=one.o", "=one.o"] {
        fails(&format!("--image={image}"), "'file' is a required image arguments");
    }
    for image in ["file=", "file=,triple=x", "file=one.o,file=", "file=none", "file=one.o,file"] {
        fails(&format!("--image={image}"), "No such file or directory");
    }
    // A missing image must be an error even if the other image is readable.
    fails("--image=file=one.o --image=file=none", "No such file or directory");
}

#[test(LLVM)]
fn files_that_cannot_be_packed() {
    let is_folder = "llvm-offload-binary: error: Is a directory\n";
    let nowhere = "llvm-offload-binary: error: No such file or directory\n";
    for (line, message) in [
        ("-o out --image=file=folder", is_folder),
        ("-o folder --image=file=one.o", is_folder),
        ("-o nowhere/out --image=file=one.o", nowhere),
        ("-o /proc/out --image=file=one.o", nowhere),
    ] {
        case(line).file("folder/inside", b"").assert_same_error(message);
    }
    let long = "x".repeat(300);
    for line in [
        "-o one.o/out --image=file=one.o",
        "-o out --image=file=one.o/x",
        &format!("-o out --image=file={long}"),
        &format!("-o {long} --image=file=one.o"),
    ] {
        case(line).assert_same().failure("error: ");
    }
    // Use one file as both input and output.
    let ran = case("-o one.o --image=file=one.o,triple=x").assert_same().success();
    assert!(ran.file("one.o").len() > 72, "{} bytes", ran.file("one.o").len());
}

#[test(LLVM)]
fn standard_input_and_output() {
    let ran = case("-o - --image=file=one.o,triple=x").assert_same().success();
    assert!(ran.stdout.starts_with(b"\x10\xff\x10\xad"), "no offload binary comes out");
    for image in ["file=-,triple=x", "file=-,file=-", "file=one.o,file=-"] {
        for (output, input) in [("out", "from the pipe"), ("-", "BC\0"), ("out", "")] {
            case(&format!("-o {output} --image={image}")).stdin(input).assert_same().success();
        }
    }
    for line in ["- --image=", "- --image=file=-,kind=cuda", "- --archive --image=file=x.a"] {
        case(line).stdin(several()).assert_same().success();
    }
    case("- --image=").assert_same().success();
    let ran = case_in(several(), "--image=file=-,arch=sm_80").assert_same();
    assert_eq!(ran.stdout, some_bytes(2, 1000));
    // If the archive is called `-`, LLVM's tool writes a file with that name, and ours writes to
    // standard output.
    let (theirs, ours) = case_in(several(), "--archive --image=file=-,arch=sm_80").both();
    assert!(theirs.file("-").starts_with(b"!<arch>\n"));
    assert!(ours.stdout == theirs.file("-"), "another archive comes out");
    assert_eq!(names(&ours), ["in"]);
}

#[test]
fn an_error_leaves_the_old_output() {
    for line in [
        "-o out --image=file=none",
        "-o out --image=file=one.o --image=triple=x",
        "-o out --image=file=one.o --image=file=.",
        "none --image=file=out",
    ] {
        let ran = case(line).file("out", b"old").run(Whose::Ours).failure("");
        assert_eq!(ran.file("out"), b"old", "{line}");
        assert_eq!(names(&ran), ["out"], "{line}");
    }
}

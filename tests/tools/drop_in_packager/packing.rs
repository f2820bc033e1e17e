//! Tests that write offload binaries: images, their strings, inputs and outputs.

use super::{assert_fails, case, inputs, names, several};
use offload_tests::data::some_bytes;
use offload_tests::registry::LLVM;

offload_tests::tests! {
    LLVM => [
        images_of_all_kinds_are_packed,
        what_image_takes,
        files_that_cannot_be_packed,
        standard_input_and_output,
    ],
}

fn images_of_all_kinds_are_packed() {
    for (name, _) in inputs() {
        let image = format!("--image=file={name},triple=amdgcn-amd-amdhsa,arch=gfx906");
        let ran = case(&["-o", "out", &image]).assert_same();
        assert!(ran.succeeded());
        for kind in ["openmp", "cuda", "hip", "sycl", "none", "HIP", ""] {
            let image = format!("--image=file={name},kind={kind},triple=x,arch=y");
            assert!(case(&["-o", "out", &image]).assert_same().succeeded());
        }
    }
    for name in ["x.O", "x.o.bc", ".o", "a.b/x", "x.", "x.hsaco", "dir/x.ptx"] {
        let image = format!("--image=file={name}");
        case(&["-o", "out", &image]).file(name, b"bytes").assert_same();
    }
    // The bytes start like bitcode in a wrapper.
    let wrapped = [b"\xde\xc0\x17\x0b".as_slice(), &[0; 40]].concat();
    case(&["-o", "out", "--image=file=x"]).file("x", wrapped).assert_same();
    let ran = case(&["-o", "out"]).assert_same();
    assert_eq!(ran.file("out"), b"");
    let images: Vec<String> =
        (0..40).map(|number| format!("--image=file=three.s,arch=sm_{number}")).collect();
    let arguments =
        ["-o", "out"].into_iter().chain(images.iter().map(String::as_str)).collect::<Vec<_>>();
    assert!(case(&arguments).assert_same().succeeded());
}

fn what_image_takes() {
    for image in [
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
    ] {
        let ran = case(&["-o", "out", &format!("--image={image}")]).assert_same();
        assert!(ran.succeeded(), "{image}");
    }
    // According to the help, an image must have the key `triple`, but both tools require only
    // `file`.
    for image in ["", "triple=x", "files=one.o", "FILE=one.o", "=one.o"] {
        let message = "llvm-offload-binary: error: 'file' is a required image arguments\n";
        assert_fails(&case(&["-o", "out", &format!("--image={image}")]), message);
    }
    let message = "llvm-offload-binary: error: No such file or directory\n";
    for image in ["file=", "file=,triple=x", "file=one.o,file=", "file=none", "file=one.o,file"] {
        assert_fails(&case(&["-o", "out", &format!("--image={image}")]), message);
    }
    // An image that can be read does not prevent the error for a missing one.
    assert_fails(&case(&["-o", "out", "--image=file=one.o", "--image=file=none"]), message);
}

fn files_that_cannot_be_packed() {
    let folder = |arguments: &[&str]| case(arguments).file("folder/inside", b"");
    assert_fails(
        &folder(&["-o", "out", "--image=file=folder"]),
        "llvm-offload-binary: error: Is a directory\n",
    );
    assert_fails(
        &folder(&["-o", "folder", "--image=file=one.o"]),
        "llvm-offload-binary: error: Is a directory\n",
    );
    let nowhere = "llvm-offload-binary: error: No such file or directory\n";
    assert_fails(&case(&["-o", "nowhere/out", "--image=file=one.o"]), nowhere);
    assert_fails(&case(&["-o", "/proc/out", "--image=file=one.o"]), nowhere);
    case(&["-o", "one.o/out", "--image=file=one.o"]).assert_same();
    case(&["-o", "out", "--image=file=one.o/x"]).assert_same();
    let long = format!("--image=file={}", "x".repeat(300));
    case(&["-o", "out", &long]).assert_same();
    case(&["-o", &"x".repeat(300), "--image=file=one.o"]).assert_same();
    // The output is also the input.
    let ran = case(&["-o", "one.o", "--image=file=one.o,triple=x"]).assert_same();
    assert!(ran.succeeded(), "{}", ran.stderr);
    assert!(ran.file("one.o").len() > 72, "{} bytes", ran.file("one.o").len());
}

fn standard_input_and_output() {
    let ran = case(&["-o", "-", "--image=file=one.o,triple=x"]).assert_same();
    assert!(ran.succeeded(), "{}", ran.stderr);
    assert!(ran.stdout.starts_with(b"\x10\xff\x10\xad"), "no offload binary comes out");
    for image in ["--image=file=-,triple=x", "--image=file=-,file=-", "--image=file=one.o,file=-"] {
        assert!(case(&["-o", "out", image]).stdin("from the pipe").assert_same().succeeded());
        assert!(case(&["-o", "-", image]).stdin("BC\u{0}").assert_same().succeeded());
        assert!(case(&["-o", "out", image]).assert_same().succeeded());
    }
    for arguments in [
        &["-", "--image="][..],
        &["-", "--image=file=-,kind=cuda"],
        &["-", "--archive", "--image=file=x.a"],
    ] {
        assert!(case(arguments).stdin(several()).assert_same().succeeded());
    }
    assert!(case(&["-", "--image="]).assert_same().succeeded());
    let ran = case(&["in", "--image=file=-,arch=sm_80"]).file("in", several()).assert_same();
    assert_eq!(ran.stdout, some_bytes(2, 1000));
    // If the archive is called `-`, LLVM's tool writes a file of that name, and ours writes to
    // standard output.
    let (theirs, ours) =
        case(&["in", "--archive", "--image=file=-,arch=sm_80"]).file("in", several()).both();
    assert!(theirs.file("-").starts_with(b"!<arch>\n"));
    assert!(ours.stdout == theirs.file("-"), "another archive comes out");
    assert_eq!(names(&ours), ["in"]);
}

//! Tests of offload binaries that clang has embedded in bitcode.

use super::{archive, case, names, packed, several};
use offload_format::offload_binary::{ImageKind, OffloadBinaryBuilder, OffloadKind, Version};
use offload_tests::data::{read, some_bytes};
use offload_tests::registry::LLVM;
use offload_tests::scratch;
use offload_tests::side_by_side::Whose;
use offload_tests::tools::{llvm, succeed};

offload_tests::tests! {
    LLVM => [bitcode_for_hosts],
}

/// Tests bitcode in which clang has embedded offload binaries, in several forms.
fn bitcode_for_hosts() {
    let folder = scratch::folder("drop_in_packager/bitcode_for_hosts");
    scratch::write(folder.join("several"), several());
    scratch::write(
        folder.join("text"),
        packed(&["--image=file=three.s,triple=nvptx64-nvidia-cuda,arch=sm_80,kind=cuda"]),
    );
    scratch::write(folder.join("big"), {
        let mut builder = OffloadBinaryBuilder::new();
        builder.image(ImageKind::OBJECT, OffloadKind::HIP, 300_000).string("arch", "gfx906");
        builder.layout(Version::V1).to_vec(&[&some_bytes(9, 300_000)])
    });
    let source = "int first = 5; const char *text = \"text\"; extern int other(long); static double table[] = {1, 2, 0.5};\n\
                  __attribute__((section(\"elsewhere\"))) char apart[] = \"\\x10\\xff\\x10\\xad\";\n\
                  int f(int a) { return other(a * 0x123456789abcL) + (int)table[a] + text[a]; }\n";
    scratch::write(folder.join("a.c"), source);
    let clang = |output: &str, arguments: &[&str], embedded: &[&str]| {
        let mut clang = llvm("clang");
        clang.current_dir(&folder).args(["-c", "-emit-llvm", "a.c", "-o", output]).args(arguments);
        for file in embedded {
            clang.args(["-Xclang", &format!("-fembed-offload-object={file}")]);
        }
        succeed(&mut clang);
    };
    clang("plain.bc", &[], &[]);
    clang("one.bc", &[], &["text"]);
    clang("three.bc", &["-O2"], &["several", "text", "several"]);
    clang("debug.bc", &["-g", "-O1"], &["text", "several"]);
    clang("big.bc", &["-Df=g", "-Dfirst=second", "-Dtext=word", "-Dapart=along"], &["big"]);
    clang("lto.bc", &["-flto"], &["several"]);
    clang("thin.bc", &["-flto=thin", "-O1"], &["several"]);
    clang("apple.bc", &["--target=x86_64-pc-windows-msvc"], &["several"]);
    succeed(llvm("llvm-link").current_dir(&folder).args(["big.bc", "three.bc", "-o", "linked.bc"]));
    succeed(llvm("llvm-cat").current_dir(&folder).args(["-b", "one.bc", "big.bc", "-o", "cat.bc"]));
    let mut wrapped = b"\xde\xc0\x17\x0b\0\0\0\0\x14\0\0\0".to_vec();
    let inside = read(folder.join("three.bc"));
    wrapped.extend((inside.len() as u32).to_le_bytes());
    wrapped.extend([7, 0, 0, 1]);
    wrapped.extend(inside);
    scratch::write(folder.join("wrapped.bc"), wrapped);
    for name in
        ["plain", "one", "three", "debug", "big", "lto", "thin", "apple", "linked", "wrapped"]
    {
        let name = format!("{name}.bc");
        let bytes = read(folder.join(&name));
        let ran = case(&[&name, "--image="]).file(&name, bytes.clone()).assert_same();
        assert!(ran.succeeded(), "{name}: {}", ran.stderr);
        assert_eq!(names(&ran).len() == 1, name == "plain.bc", "{name}: {:?}", names(&ran));
        assert!(
            case(&[&name, "--archive", "--image=file=x.a"])
                .file(&name, bytes)
                .assert_same()
                .succeeded()
        );
    }
    // The file contains several modules; LLVM's tool reads only files with one module.
    let (theirs, ours) =
        case(&["cat.bc", "--image="]).file("cat.bc", read(folder.join("cat.bc"))).both();
    assert!(!theirs.succeeded());
    assert_eq!(names(&ours).len(), 3);
    // The next cases are bitcode in an archive, and truncated bitcode.
    let library =
        archive("bitcode_in_archives", "rcD", &[("three.bc", read(folder.join("three.bc")))]);
    assert!(
        case(&["in.a", "--archive", "--image=file=x.a"])
            .file("in.a", read(library))
            .assert_same()
            .succeeded()
    );
    let three = read(folder.join("three.bc"));
    for size in [8, 100, 400, three.len() - 400] {
        let ran = case(&["in.bc", "--image="]).file("in.bc", &three[..size]).run(Whose::Ours);
        assert!(ran.status.starts_with("exit status: "), "{size}: {}", ran.status);
    }
}

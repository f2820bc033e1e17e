//! Tests of offload binaries that clang embeds in bitcode.

use super::{archive, case, case_in, names, packed, several};
use crate::containers::binary;
use offload_format::offload_binary::{OffloadKind, StatedKind, Version};
use offload_tests::prelude::*;
use offload_tests::side_by_side::Whose;

/// Tests bitcode with embedded offload binaries in several forms.
#[test(LLVM.slow())]
fn bitcode_for_hosts() {
    let folder = scratch::folder("drop_in_packager/bitcode_for_hosts");
    let big = some_bytes(9, 300_000);
    let big = (StatedKind::OBJECT, OffloadKind::HIP, &[("arch", "gfx906")][..], &big[..]);
    let text = "--image=file=three.s,triple=nvptx64-nvidia-cuda,arch=sm_80,kind=cuda";
    scratch::write(folder.join("several"), several());
    scratch::write(folder.join("text"), packed(text));
    scratch::write(folder.join("big"), binary(Version::V1, &[big]));
    let source = "int first = 5; const char *text = \"text\"; extern int other(long); static double table[] = {1, 2, 0.5};\n\
                  __attribute__((section(\"elsewhere\"))) char apart[] = \"\\x10\\xff\\x10\\xad\";\n\
                  int f(int a) { return other(a * 0x123456789abcL) + (int)table[a] + text[a]; }\n";
    scratch::write(folder.join("a.c"), source);
    for (output, options, embedded) in [
        ("plain.bc", "", &[][..]),
        ("one.bc", "", &["text"]),
        ("three.bc", "-O2", &["several", "text", "several"]),
        ("debug.bc", "-g -O1", &["text", "several"]),
        ("big.bc", "-Df=g -Dfirst=second -Dtext=word -Dapart=along", &["big"]),
        ("lto.bc", "-flto", &["several"]),
        ("thin.bc", "-flto=thin -O1", &["several"]),
        ("apple.bc", "--target=x86_64-pc-windows-msvc", &["several"]),
    ] {
        let mut clang = llvm("clang");
        clang.current_dir(&folder).args(["-c", "-emit-llvm", "a.c", "-o", output]);
        clang.args(options.split_whitespace());
        for file in embedded {
            clang.args(["-Xclang", &format!("-fembed-offload-object={file}")]);
        }
        succeed(&mut clang);
    }
    succeed(llvm("llvm-link").current_dir(&folder).args(["big.bc", "three.bc", "-o", "linked.bc"]));
    succeed(llvm("llvm-cat").current_dir(&folder).args(["-b", "one.bc", "big.bc", "-o", "cat.bc"]));
    let three = read(folder.join("three.bc"));
    let mut wrapped = b"\xde\xc0\x17\x0b\0\0\0\0\x14\0\0\0".to_vec();
    wrapped.extend((three.len() as u32).to_le_bytes());
    wrapped.extend([7, 0, 0, 1]);
    wrapped.extend(&three);
    scratch::write(folder.join("wrapped.bc"), wrapped);
    for name in
        ["plain", "one", "three", "debug", "big", "lto", "thin", "apple", "linked", "wrapped"]
    {
        let name = format!("{name}.bc");
        let case = |options: &str| {
            case(&format!("{name} {options}")).file(&name, read(folder.join(&name)))
        };
        let ran = case("--image=").assert_same().success();
        assert_eq!(names(&ran).len() == 1, name == "plain.bc", "{name}: {:?}", names(&ran));
        case("--archive --image=file=x.a").assert_same().success();
    }
    // The file contains several modules, but LLVM's tool reads only files with one module.
    let (theirs, ours) = case_in(read(folder.join("cat.bc")), "--image=").both();
    assert!(!theirs.succeeded());
    assert_eq!(names(&ours).len(), 3);
    // Test bitcode in an archive, and truncated bitcode.
    let library = archive("bitcode_in_archives", "rcD", &[("three.bc", three.clone())]);
    case_in(library, "--archive --image=file=x.a").assert_same().success();
    for size in [8, 100, 400, three.len() - 400] {
        let ran = case_in(&three[..size], "--image=").run(Whose::Ours);
        assert!(ran.status.starts_with("exit status: "), "{size}: {}", ran.status);
    }
}

//! Compares our removal of bundles from objects with LLVM 22's `llvm-objcopy --remove-section`.
//! Also tests objects at any address.

use super::{C, DEVICES, THREAD_LOCAL, clang, contents, objcopy_strips, our_bundle};
use offload_format::object_bundle::{self, ObjectBundle};
use offload_tests::prelude::*;

/// `ld -r` puts several bundles into one object, with symbols for their sections.
#[test(CLANG)]
fn bundles_from_a_relocatable_link() {
    let folder = scratch::folder("object-bundle-relocatable");
    for (target, gnu) in
        [("x86_64-unknown-linux-gnu", "elf_x86_64"), ("i386-unknown-linux-gnu", "elf_i386")]
    {
        for (number, source) in [C, THREAD_LOCAL].into_iter().enumerate() {
            let host = clang(&folder, &format!("{target} -ffunction-sections"), ("a.c", source));
            scratch::write(folder.join(format!("fat{number}.o")), our_bundle(&read(host), 0));
        }
        for (linker, name) in [(llvm("ld.lld"), "lld"), (Command::new("ld.bfd"), "bfd")] {
            run(linker, &folder, &format!("-m {gnu} -r fat0.o fat1.o -o both.o"));
            let bytes = read(folder.join("both.o"));
            let entries = ObjectBundle::parse(&bytes).unwrap().entries().count();
            assert!(entries > DEVICES.len(), "{entries}");
            let theirs = objcopy_strips(&folder, "both.o").expect("llvm-objcopy strips it");
            let ours = object_bundle::strip(&bytes).unwrap();
            scratch::write(folder.join("ours.o"), &ours);
            assert_eq!(contents(&folder, "ours.o"), contents(&folder, "theirs.o"), "{name}");
            assert_same_bytes(&ours, &theirs, name);
        }
    }
}

/// Tests that references to the sections after the bundles are renumbered.
#[test(LLVM)]
fn bundles_between_other_sections() {
    let folder = scratch::folder("object-bundle-between");
    let source = r#"
        .section "__CLANG_OFFLOAD_BUNDLE__host-x86_64-unknown-linux-gnu-","FLAGS"
        .byte 0
        .section "__CLANG_OFFLOAD_BUNDLE__hip-amdgcn-amd-amdhsa--gfx906","FLAGS"
        .ascii "code object"
        .section .behind,"FLAGS"
        .globl behind
        behind: .long there
        .text
        .globl there
        there: .long behind
    "#;
    let groups = r#"
        .section .grp,"aG",@progbits,signature,comdat
        .weak signature
        signature: .quad behind
        .section .ordered,"ao",@progbits,.behind
        .quad .grp
    "#;
    let coff = r#"
        .section .key,"dr",discard,key
        .globl key
        key: .long 1
        .section .with,"dr",associative,key
        .long .behind
        .weak soft
        .long soft
    "#;
    let cases = [
        ("x86_64-unknown-linux-gnu", "a", groups),
        ("i386-unknown-linux-gnu", "a", ""),
        ("powerpc64-unknown-linux-gnu", "a", ""),
        ("mips64el-unknown-linux-gnu", "a", ""),
        ("x86_64-pc-windows-msvc", "dr", coff),
        ("i686-pc-windows-msvc", "dr", ""),
    ];
    for (target, flags, more) in cases {
        let source = source.replace("FLAGS", flags) + more;
        let ours = object_bundle::strip(&read(clang(&folder, target, ("a.s", &source)))).unwrap();
        let theirs = objcopy_strips(&folder, "host.o").expect("llvm-objcopy strips it");
        assert_same_bytes(&ours, &theirs, target);
    }
    // This section cannot be removed, because code refers to the bundle.
    for (target, flags) in [("x86_64-unknown-linux-gnu", "a"), ("x86_64-pc-windows-msvc", "dr")] {
        let source = format!(
            ".section __CLANG_OFFLOAD_BUNDLE__x,\"{flags}\"\nhere: .byte 1\n.globl here\n.text\n.long here - .\n"
        );
        let host = read(clang(&folder, target, ("a.s", &source)));
        let error = object_bundle::strip(&host).unwrap_err();
        assert!(
            error.to_string().contains("reference to a symbol in a removed section of the bundle"),
            "{error}"
        );
        assert_eq!(objcopy_strips(&folder, "host.o"), None);
    }
}

/// Tests objects at any address in memory: in an archive, for example, a member's offset is only
/// guaranteed to be even.
#[test]
fn objects_at_any_address() {
    for file in ["fat.o", "fat.obj", "hip_rdc.o"] {
        let bytes = corpus_file(&format!("object_bundle/{file}"));
        let expected = format!("{:?}", ObjectBundle::parse(&bytes).unwrap());
        let mut shifted = bytes.clone();
        for _ in 0..8 {
            shifted.insert(0, 0);
            let object = &shifted[shifted.len() - bytes.len()..];
            assert_eq!(format!("{:?}", ObjectBundle::parse(object).unwrap()), expected);
            assert!(object_bundle::strip(object).unwrap() == object_bundle::strip(&bytes).unwrap());
        }
    }
}

//! The kind of an image: clang's output for many targets, and files that are no images.

use super::{corpus, kernels};
use offload_format::ErrorKind;
use offload_format::image::{Image, Kernels};
use offload_tests::prelude::*;

offload_tests::tests! {
    LLVM => [images_of_every_kind],
}

fn images_of_every_kind() {
    let folder = scratch::folder("kernels-kinds");
    scratch::write(folder.join("k.c"), "void k(void) {}\n");
    let compile = |options: &str| {
        let options = format!("-ffreestanding -nogpulib -c --target={options} k.c -o out");
        run(llvm("clang"), &folder, &options);
        Image::parse(&read(folder.join("out"))).unwrap_or_else(|error| panic!("{options}: {error}"))
    };
    for (options, expected) in [
        ("x86_64-linux-gnu", Image::Elf { machine: 62 }),
        ("aarch64-linux-gnu", Image::Elf { machine: 183 }),
        ("i386-linux-gnu", Image::Elf { machine: 3 }),
        ("powerpc64-linux-gnu", Image::Elf { machine: 21 }),
        ("x86_64-linux-gnu -emit-llvm", Image::Bitcode),
        ("x86_64-apple-macos -emit-llvm -fembed-bitcode=off", Image::Bitcode),
        ("spirv64-unknown-unknown", Image::SpirV { major: 1, minor: 4 }),
    ] {
        assert_eq!(compile(options), expected, "{options}");
    }
    let code_object = compile("amdgcn-amd-amdhsa -mcpu=gfx1030");
    assert!(matches!(code_object, Image::CodeObject(_)));
    assert!(kernels(&read(folder.join("out"))).is_empty(), "a code object without kernels");
    let cubin = read(corpus("cuda12.sm_90.cubin"));
    assert!(matches!(Image::parse(&cubin), Ok(Image::Cubin(it)) if it.number() == 90));
    assert!(matches!(Image::parse(&read(corpus("kinds.ptx"))), Ok(Image::Ptx(_))));
    let kind = |data: &[u8]| Image::parse(data).unwrap_err().kind();
    assert_eq!(kind(b"some text"), ErrorKind::BadMagic);
    assert_eq!(kind(b".version x"), ErrorKind::Malformed);
    assert!(matches!(kind(b"\x7fELF"), ErrorKind::Truncated { .. }));
    assert_eq!(Kernels::parse(b"BC\xc0\xde").unwrap_err().kind(), ErrorKind::BadMagic);
}

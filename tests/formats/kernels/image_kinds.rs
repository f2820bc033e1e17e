//! The kind of an image: clang's output for many targets, and files that are no images.

use super::{corpus, kernels};
use offload_format::ErrorKind;
use offload_format::image::{Image, Kernels};
use offload_tests::data::read;
use offload_tests::registry::LLVM;
use offload_tests::scratch;
use offload_tests::tools::{llvm, succeed};

offload_tests::tests! {
    LLVM => [images_of_every_kind],
}

fn images_of_every_kind() {
    let folder = scratch::folder("kernels-kinds");
    scratch::write(folder.join("k.c"), "void k(void) {}\n");
    let compile = |options: &[&str]| {
        let out = folder.join("out");
        succeed(
            llvm("clang")
                .args(["-ffreestanding", "-nogpulib", "-c"])
                .args(options)
                .arg(folder.join("k.c"))
                .arg("-o")
                .arg(&out),
        );
        Image::parse(&read(out)).unwrap_or_else(|error| panic!("{options:?}: {error}"))
    };
    assert_eq!(compile(&["--target=x86_64-linux-gnu"]), Image::Elf { machine: 62 });
    assert_eq!(compile(&["--target=aarch64-linux-gnu"]), Image::Elf { machine: 183 });
    assert_eq!(compile(&["--target=i386-linux-gnu"]), Image::Elf { machine: 3 });
    assert_eq!(compile(&["--target=powerpc64-linux-gnu"]), Image::Elf { machine: 21 });
    assert_eq!(compile(&["--target=x86_64-linux-gnu", "-emit-llvm"]), Image::Bitcode);
    assert_eq!(
        compile(&["--target=x86_64-apple-macos", "-emit-llvm", "-fembed-bitcode=off"]),
        Image::Bitcode
    );
    assert_eq!(compile(&["--target=spirv64-unknown-unknown"]), Image::SpirV { major: 1, minor: 4 });
    assert!(matches!(
        compile(&["--target=amdgcn-amd-amdhsa", "-mcpu=gfx1030"]),
        Image::CodeObject(_)
    ));
    assert!(
        matches!(Image::parse(&read(corpus("cuda12.sm_90.cubin"))), Ok(Image::Cubin(it)) if it.number() == 90)
    );
    assert!(matches!(Image::parse(&read(corpus("kinds.ptx"))), Ok(Image::Ptx(_))));
    let kind = |data: &[u8]| Image::parse(data).unwrap_err().kind();
    assert_eq!(kind(b"some text"), ErrorKind::BadMagic);
    assert_eq!(kind(b".version x"), ErrorKind::Malformed);
    assert!(matches!(kind(b"\x7fELF"), ErrorKind::Truncated { .. }));
    assert!(
        kernels(&read(folder.join("out"))).is_empty(),
        "a code object without kernels has none"
    );
    assert_eq!(Kernels::parse(b"BC\xc0\xde").unwrap_err().kind(), ErrorKind::BadMagic);
}

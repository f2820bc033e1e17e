//! Compares offload binaries in objects and programs of every kind with LLVM 22's `llvm-objdump`
//! and `llvm-readobj`.

use super::inputs::{ALLOC, LINKS, link, of_corpus, offload_binaries, offload_object};
use super::{assert_images_are_listed, containers, images, only_container, text};
use offload_format::fat_file::{ContainerKind, Content};
use offload_tests::judges::{objdump_lists, section_ranges};
use offload_tests::prelude::*;

#[test(CLANG.slow())]
fn offload_binaries_in_objects_and_programs() {
    let folder = scratch::folder("fat-file-offloading");
    offload_object(&folder, "a", ALLOC);
    offload_object(&folder, "b", ALLOC);
    offload_object(&folder, "excluded", ".llvm.offloading,\"e\",@llvm_offloading");
    for (name, count) in [("offloading.o", 2), ("hip_rdc_newdriver.o", 1)] {
        of_corpus(name).iter().for_each(|path| assert_images_are_listed(path, count));
    }
    for how in LINKS {
        let program = link(&folder, how, &["a.o", "b.o", "excluded.o"]);
        assert_images_are_listed(&program, 4);
        let file = read(&program);
        let (place, _) = containers(&file)[0];
        assert_eq!(text(place.section), ".llvm.offloading");
        let ranges = section_ranges(&program, ".llvm.offloading", "Offset:", "Size:");
        assert!(ranges.iter().map(|(offset, _)| *offset).eq([place.offset]), "{ranges:?}");
    }
    for linker in ["lld", "bfd"] {
        let options = format!("-fuse-ld={linker} -r -nostdlib a.o excluded.o b.o -o r.o");
        run(llvm("clang"), &folder, &options);
        assert_images_are_listed(&folder.join("r.o"), 6);
    }
}

#[test(LLVM)]
fn the_type_without_the_name_and_the_reverse() {
    let folder = scratch::folder("fat-file-type");
    offload_object(&folder, "typed", ".foo,\"a\",@llvm_offloading");
    assert_images_are_listed(&folder.join("typed.o"), 2);
    for (name, section) in
        [("named", ".llvm.offloading,\"a\",@progbits"), ("neither", ".foo,\"a\",@progbits")]
    {
        offload_object(&folder, name, section);
        let path = folder.join(format!("{name}.o"));
        assert_eq!((images(&read(&path)).len(), objdump_lists(&path).len()), (2, 0), "{name}");
    }
    // Zero the ELF header's index of the section with the names, so that no section has a name.
    let mut nameless = read(folder.join("typed.o"));
    nameless[62..64].fill(0);
    scratch::write(folder.join("nameless.o"), nameless);
    assert_images_are_listed(&folder.join("nameless.o"), 2);
}

/// Tests objects that are 32-bit, big-endian, or have more sections than COFF's first header can
/// count.
#[test(LLVM)]
fn objects_of_every_size_and_byte_order() {
    let folder = scratch::folder("fat-file-sizes");
    scratch::write(folder.join("multi.bin"), offload_binaries());
    let assemble = |target: &str, before: &str, section: &str| {
        let text = format!("{before}.section {section}\n.p2align 3\n.incbin \"multi.bin\"\n");
        scratch::write(folder.join("a.s"), text);
        run(llvm("clang"), &folder, &format!("--target={target} -c a.s -o a.o"));
        folder.join("a.o")
    };
    for processor in ["i686", "powerpc", "powerpc64", "s390x", "aarch64"] {
        let path = assemble(&format!("{processor}-linux-gnu"), "", ALLOC);
        assert_images_are_listed(&path, 2);
    }
    let many: String = (0..66_000).map(|it| format!(".section .s{it},\"dr\"\n.byte 1\n")).collect();
    for (before, magic) in [("", [0x64, 0x86]), (&*many, [0, 0])] {
        let path = assemble("x86_64-pc-windows-msvc", before, ".llvm.offloading,\"n\"");
        assert!(read(&path).starts_with(&magic));
        assert_images_are_listed(&path, 2);
    }
    for target in ["i386-apple-macosx10.12", "x86_64-apple-macosx10.12", "arm64-apple-macosx11"] {
        let zeros = ".zerofill __DATA,__bss,_z,70000\n";
        let path = assemble(target, zeros, "__OFFLOAD,__offloading");
        let file = read(&path);
        let (place, Content::Container(ContainerKind::OffloadBinary, bytes)) =
            only_container(&file)
        else {
            panic!("{target}")
        };
        let ranges = section_ranges(&path, "__offloading", "Offset:", "Size:");
        assert_eq!(ranges, [(place.offset, bytes.len() as u64)], "{target}");
        assert_eq!(images(&file), images(&offload_binaries()), "{target}");
    }
}

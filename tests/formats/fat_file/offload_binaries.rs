//! Offload binaries in objects and programs of every kind, compared with LLVM 22's `llvm-objdump`
//! and `llvm-readobj`.

use super::inputs::{ALLOC, LINKS, a_bundle, in_folder, link, offload_binaries, offload_object};
use super::{
    assert_images_are_listed, bundle_entries, containers, images, objdump_lists, text, uris,
};
use offload_format::fat_file::Container;
use offload_tests::data::{corpus, read};
use offload_tests::judges::{readobj_lists, section_ranges};
use offload_tests::registry::{CLANG, LLVM};
use offload_tests::scratch;
use offload_tests::tools::{llvm, succeed};

offload_tests::tests! {
    LLVM => [the_type_without_the_name_and_the_reverse, objects_of_every_size_and_byte_order],
    CLANG => [offload_binaries_in_objects_and_programs],
}

fn offload_binaries_in_objects_and_programs() {
    let folder = scratch::folder("fat-file-offloading");
    offload_object(&folder, "a", ALLOC);
    offload_object(&folder, "b", ALLOC);
    offload_object(&folder, "excluded", ".llvm.offloading,\"e\",@llvm_offloading");
    for path in
        corpus("fat_file").iter().filter(|path| path.display().to_string().contains("offloading.o"))
    {
        assert_images_are_listed(path, 2);
    }
    for how in LINKS {
        let program = link(&folder, how, &["a.o", "b.o", "excluded.o"]);
        assert_images_are_listed(&program, 4);
        let file = read(&program);
        let (place, _) = containers(&file)[0];
        assert_eq!(text(place.section), ".llvm.offloading");
        let ranges = section_ranges(&program, ".llvm.offloading", "Offset:", "Size:");
        assert_eq!(ranges.iter().map(|(offset, _)| *offset).collect::<Vec<_>>(), [place.offset]);
    }
    for linker in ["lld", "bfd"] {
        let mut clang = in_folder(llvm("clang"), &folder);
        succeed(clang.args([
            &format!("-fuse-ld={linker}"),
            "-r",
            "-nostdlib",
            "a.o",
            "excluded.o",
            "b.o",
            "-o",
            "r.o",
        ]));
        assert_images_are_listed(&folder.join("r.o"), 6);
    }
}

fn the_type_without_the_name_and_the_reverse() {
    let folder = scratch::folder("fat-file-type");
    offload_object(&folder, "typed", ".foo,\"a\",@llvm_offloading");
    assert_images_are_listed(&folder.join("typed.o"), 2);
    offload_object(&folder, "named", ".llvm.offloading,\"a\",@progbits");
    assert_eq!(images(&read(folder.join("named.o"))).len(), 2);
    assert!(objdump_lists(&folder.join("named.o")).is_empty());
    offload_object(&folder, "neither", ".foo,\"a\",@progbits");
    assert_eq!(images(&read(folder.join("neither.o"))).len(), 2);
    assert!(objdump_lists(&folder.join("neither.o")).is_empty());

    scratch::write(folder.join("hip.bin"), a_bundle());
    scratch::write(
        folder.join("zeros.s"),
        ".section .hip_fatbin,\"a\"\n.zero 4096\n.incbin \"hip.bin\"\n",
    );
    succeed(in_folder(llvm("clang"), &folder).args(["-c", "zeros.s"]));
    assert_eq!(uris(&bundle_entries(&read(folder.join("zeros.o")))).len(), 2);
    assert!(readobj_lists(&folder.join("zeros.o")).is_empty());

    offload_object(&folder, "neither", ".foo,\"a\",@progbits");
    assert_eq!(images(&read(folder.join("neither.o"))).len(), 2);
    assert!(objdump_lists(&folder.join("neither.o")).is_empty());

    // No section has a name, because the field with the place of the names is zero.
    let mut nameless = read(folder.join("typed.o"));
    nameless[62..64].fill(0);
    scratch::write(folder.join("nameless.o"), nameless);
    assert_images_are_listed(&folder.join("nameless.o"), 2);
}

/// Tests objects with 32 bits, of big-endian machines, and with more sections than COFF's first
/// header can count.
fn objects_of_every_size_and_byte_order() {
    let folder = scratch::folder("fat-file-sizes");
    scratch::write(folder.join("multi.bin"), offload_binaries());
    let assemble = |target: &str, text: &str| {
        scratch::write(folder.join("a.s"), text);
        let mut clang = in_folder(llvm("clang"), &folder);
        succeed(clang.args([&format!("--target={target}"), "-c", "a.s", "-o", "a.o"]));
        folder.join("a.o")
    };
    for target in [
        "i686-linux-gnu",
        "powerpc-linux-gnu",
        "powerpc64-linux-gnu",
        "s390x-linux-gnu",
        "aarch64-linux-gnu",
    ] {
        let path =
            assemble(target, &format!(".section {ALLOC}\n.p2align 3\n.incbin \"multi.bin\"\n"));
        assert_images_are_listed(&path, 2);
    }
    let many: String =
        (0..66_000).map(|number| format!(".section .s{number},\"dr\"\n.byte 1\n")).collect();
    for (text, magic) in [("", [0x64, 0x86]), (&*many, [0, 0])] {
        let text =
            format!("{text}.section .llvm.offloading,\"n\"\n.p2align 3\n.incbin \"multi.bin\"\n");
        let path = assemble("x86_64-pc-windows-msvc", &text);
        assert!(read(&path).starts_with(&magic));
        assert_images_are_listed(&path, 2);
    }
    for target in ["i386-apple-macosx10.12", "x86_64-apple-macosx10.12", "arm64-apple-macosx11"] {
        let text = ".section __OFFLOAD,__offloading\n.p2align 3\n.incbin \"multi.bin\"\n.zerofill __DATA,__bss,_z,70000\n";
        let path = assemble(target, text);
        let file = read(&path);
        let [(place, Container::OffloadBinaries(bytes))] = containers(&file)[..] else {
            panic!("{target}")
        };
        let ranges = section_ranges(&path, "__offloading", "Offset:", "Size:");
        assert_eq!(ranges, [(place.offset, bytes.len() as u64)], "{target}");
        assert_eq!(images(&file), images(&offload_binaries()), "{target}");
    }
}

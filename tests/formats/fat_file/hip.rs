//! Compares bundles in HIP objects and programs with `roc-obj-ls`, and with LLVM 22's
//! `llvm-readobj` and `llvm-objdump`.

use super::inputs::{HIP, INPUTS, LINKS, a_bundle, copied, hip_object, link, of_corpus};
use super::*;
use offload_format::fat_file::{ContainerKind, Content, wrappers};
use offload_format::object_bundle::ObjectBundle;
use offload_tests::judges::{readobj_lists, roc_obj_lists, section_ranges};

#[test(LLVM)]
fn hip_objects() {
    let folder = scratch::folder("fat-file-hip-objects");
    let names = ["a.o", "b.o", "c.o", "d.o"];
    copied(&INPUTS, &folder, &names);
    for name in names {
        let check =
            if name < "c" { assert_bundles_are_extracted } else { assert_bundles_are_listed };
        check(&folder.join(name), 2);
        let file = read(folder.join(name));
        let (place, container) = only_container(&file);
        assert!(
            matches!(
                container,
                Content::Container(ContainerKind::Bundle | ContainerKind::CompressedBundle, _)
            ),
            "{name}: {container:?}"
        );
        assert_eq!((text(place.section), place.member, place.slice), (".hip_fatbin", None, None));
    }
    // An uncompressed object contains the same code objects.
    scratch::write(folder.join("plain/k.hip"), HIP);
    hip_object(&folder.join("plain"), "c", "--no-offload-new-driver");
    let [compressed, plain] =
        ["c.o", "plain/c.o"].map(|name| bundle_entries(&read(folder.join(name))));
    assert!(compressed == plain, "the code objects differ");
    for path in of_corpus("nordc") {
        let name = path.file_name().expect("a file has a name");
        fs::copy(&path, folder.join(name)).expect("the scratch folder can be written");
        let count = if name.to_string_lossy().contains("compressed") { 2 } else { 1 };
        assert_bundles_are_listed(&folder.join(name), count);
    }
}

#[test(ROC_OBJ.slow())]
fn hip_programs() {
    let folder = scratch::folder("fat-file-hip-programs");
    for how in LINKS {
        let program = link(&folder, how, &["a.o", "b.o"]);
        assert_bundles_are_extracted(&program, 4);
        assert_eq!(uris(&program), roc_obj_lists(&program), "{how}");
    }
}

#[test(CLANG.slow())]
fn hip_programs_with_compressed_bundles() {
    let folder = scratch::folder("fat-file-hip-compressed");
    for how in LINKS {
        assert_bundles_are_listed(&link(&folder, how, &["c.o", "d.o"]), 4);
        // If a program contains compressed and uncompressed bundles, LLVM's tools find only those
        // of the kind that comes first.
        let mixed = link(&folder, how, &["a.o", "c.o", "b.o", "d.o"]);
        let (ours, theirs) = (uris(&mixed), readobj_lists(&mixed));
        assert_eq!((ours.len(), theirs.len()), (8, 4), "{how}");
        assert!(theirs.iter().all(|entry| ours.contains(entry)), "{how}");
    }
}

/// Tests a bundle after zeros. A linker adds such padding if it places a small section before the
/// bundle.
#[test(LLVM)]
fn a_bundle_behind_zeros() {
    let folder = scratch::folder("fat-file-zeros");
    scratch::write(folder.join("bundle"), a_bundle());
    for (zeros, for_llvm) in [(0, 2), (4096, 0)] {
        let source =
            format!(".section .hip_fatbin,\"a\"\n.p2align 12\n.zero {zeros}\n.incbin \"bundle\"\n");
        scratch::write(folder.join("fat.s"), source);
        run(llvm("clang"), &folder, "-c fat.s -o fat.o --target=x86_64-unknown-linux-gnu");
        let path = folder.join("fat.o");
        assert_eq!((uris(&path).len(), readobj_lists(&path).len()), (2, for_llvm), "{zeros}");
    }
}

#[test(LLVM)]
fn hip_objects_with_relocatable_device_code() {
    let folder = scratch::folder("fat-file-rdc");
    copied(&INPUTS, &folder, &["k.hip"]);
    hip_object(&folder, "old", "-fgpu-rdc --no-offload-new-driver");
    let file = read(folder.join("old.o"));
    let (place, Content::Container(ContainerKind::ObjectBundle, object)) = only_container(&file)
    else {
        panic!("old.o")
    };
    let bundle = ObjectBundle::parse(object).unwrap();
    assert_eq!((place.offset, place.section), (0, None));
    assert_eq!(bundle.entries().count(), 3);
    for entry in bundle.entries() {
        let section = format!("__CLANG_OFFLOAD_BUNDLE__{}", entry.id_str);
        let ranges = section_ranges(&folder.join("old.o"), &section, "Offset:", "Size:");
        assert_eq!(ranges, [(entry.offset, entry.code_object.len() as u64)]);
        assert_eq!(offset_in(&file, entry.code_object), entry.offset);
    }

    hip_object(&folder, "fresh", "-fgpu-rdc --offload-new-driver");
    assert_images_are_listed(&folder.join("fresh.o"), 2);
    // The old driver writes a wrapper into each object. The new driver creates wrappers only at
    // link time.
    for (name, expected) in [("old.o", 1), ("fresh.o", 0)] {
        let mut count = 0;
        wrappers(&read(folder.join(name)), |_| count += 1);
        assert_eq!(count, expected, "{name}");
    }
}

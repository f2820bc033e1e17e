//! Searches Linux and Windows programs that contain this library's objects. The results must match
//! those of `roc-obj-ls`, and of LLVM 22's `llvm-objdump` and `llvm-readobj`.

use super::inputs::{LINKS, USER, link, our_objects};
use super::*;
use offload_format::fat_file::{ContainerKind, Content, FileKind};
use offload_tests::judges::{roc_obj_lists, section_ranges};

#[test(ROC_OBJ.slow())]
fn a_program_with_our_object() {
    let folder = scratch::folder("fat-file-ours");
    our_objects(&folder, "", "x86_64", "linux");
    scratch::write(folder.join("user.c"), USER);
    run(llvm("clang"), &folder, "-fPIC -c user.c");
    for name in ["hip.o", "llvm.o"] {
        assert_eq!(FileKind::identify(&read(folder.join(name))), Some(FileKind::Host));
    }
    assert_bundles_are_extracted(&folder.join("hip.o"), 2);
    assert_images_are_listed(&folder.join("llvm.o"), 2);
    for how in LINKS.into_iter().chain(["-fuse-ld=lld -static", "-fuse-ld=bfd -static"]) {
        let options = format!("{how} -Wl,--fatal-warnings,--gc-sections,-u,entry");
        let program = link(&folder, &options, &["user.o", "hip.o", "llvm.o"]);
        assert_bundles_are_extracted(&program, 2);
        assert_images_are_listed(&program, 2);
        assert_eq!(uris(&program), roc_obj_lists(&program), "{how}");
        let symbols = run(llvm("llvm-nm"), &folder, "program");
        for (symbol, align) in [("pack_hip", 4096), ("pack_llvm", 8)] {
            let line = symbols.lines().find(|line| line.ends_with(&format!(" {symbol}")));
            let address = line.and_then(|line| u64::from_str_radix(&line[..16], 16).ok());
            let is_aligned = address.is_none_or(|address| address % align == 0);
            assert!(is_aligned && (address.is_some() || how.ends_with(" -s")), "{how}: {line:?}");
        }
        let exported = run(llvm("llvm-nm"), &folder, "-D --defined-only program");
        assert!(!exported.contains("pack_"), "{how}: {exported}");
    }
}

/// Searches objects for Windows. `host_object::links` searches linked images.
#[test(LLVM)]
fn objects_for_windows() {
    let folder = scratch::folder("fat-file-windows");
    our_objects(&folder, "", "x86_64", "windows");
    scratch::write(folder.join("multi.bin"), corpus_file("offload_binary/multi.bin"));
    scratch::write(folder.join("embedded.c"), "int embedded;");
    let options = "--target=x86_64-pc-windows-msvc -Xclang -fembed-offload-object=multi.bin";
    run(llvm("clang"), &folder, &format!("{options} -c embedded.c"));
    for name in ["embedded.o", "llvm.o"] {
        let path = folder.join(name);
        assert_images_are_listed(&path, 2);
        let file = read(&path);
        let ranges = section_ranges(&path, ".llvm.offloading", "PointerToRawData:", "RawDataSize:");
        let (place, Content::Container(ContainerKind::OffloadBinary, bytes)) =
            only_container(&file)
        else {
            panic!("{name}")
        };
        assert_eq!(ranges, [(place.offset, bytes.len() as u64)]);
        assert_eq!(text(place.section), ".llvm.offloading");
    }
    let hip = read(folder.join("hip.o"));
    assert_eq!(text(only_container(&hip).0.section), ".hip_fatbin");
    assert_eq!(bundle_entries(&hip).len(), 3);
}

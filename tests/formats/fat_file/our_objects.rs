//! Programs with the objects that this library writes, on Linux and Windows, compared with LLVM
//! 22's `llvm-objdump` and `llvm-readobj`, and `roc-obj-ls`.

use super::inputs::{LINKS, USER, link, our_objects};
use super::*;
use offload_format::fat_file::{Container, FileKind};
use offload_tests::judges::{roc_obj_lists, section_ranges};

offload_tests::tests! {
    ROC_OBJ.slow() => [a_program_with_our_object],
    LLVM => [images_for_windows],
    MINGW => [images_of_mingw],
}

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

/// Writes `hip.o` and `llvm.o` with this library, and `user.o` and `embedded.o` with clang.
fn windows_objects(folder: &Path, environment: &str) {
    our_objects(folder, "", "x86_64", "windows");
    scratch::write(folder.join("multi.bin"), corpus_file("offload_binary/multi.bin"));
    scratch::write(folder.join("user.c"), USER);
    scratch::write(folder.join("embedded.c"), "int embedded;");
    let options = format!(
        "--target=x86_64-pc-windows-{environment} -ffreestanding -fno-stack-protector -O1 -c"
    );
    run(llvm("clang"), folder, &format!("{options} user.c"));
    let embed = "-Xclang -fembed-offload-object=multi.bin";
    run(llvm("clang"), folder, &format!("{options} embedded.c {embed}"));
}

/// The labels of a section's place in an image, as `llvm-readobj` prints them.
const IN_IMAGE: [&str; 2] = ["PointerToRawData:", "VirtualSize:"];

fn images_for_windows() {
    let folder = scratch::folder("fat-file-windows");
    windows_objects(&folder, "msvc");
    for name in ["embedded.o", "llvm.o"] {
        let path = folder.join(name);
        assert_images_are_listed(&path, 2);
        let file = read(&path);
        let ranges = section_ranges(&path, ".llvm.offloading", "PointerToRawData:", "RawDataSize:");
        let (place, Container::OffloadBinaries(bytes)) = only_container(&file) else {
            panic!("{name}")
        };
        assert_eq!(ranges, [(place.offset, bytes.len() as u64)]);
        assert_eq!(text(place.section), ".llvm.offloading");
    }
    let hip = read(folder.join("hip.o"));
    assert_eq!(text(only_container(&hip).0.section), ".hip_fatbin");
    assert_eq!(bundle_entries(&hip).len(), 3);

    for options in ["", "/debug", "/opt:ref", "/lldmingw"] {
        let options = format!("/dll /noentry /out:image.dll /export:entry {options}");
        // The linker leaves out the sections of `embedded.o`.
        let inputs = "user.o embedded.o hip.o llvm.o";
        run(llvm("lld-link"), &folder, &format!("{options} {inputs}"));
        assert_both_are_there(&folder.join("image.dll"), [".hip_fat", ".llvm"], IN_IMAGE);
    }
}

fn images_of_mingw() {
    let folder = scratch::folder("fat-file-mingw");
    windows_objects(&folder, "gnu");
    for (options, names) in [
        ("", [".hip_fat", ".llvm.of"]),
        ("--enable-long-section-names", [".hip_fatbin", ".llvm.offloading"]),
    ] {
        let options = format!("-m i386pep -shared -e 0 -o image.dll {options}");
        run(Command::new("ld.bfd"), &folder, &format!("{options} user.o hip.o llvm.o"));
        assert_both_are_there(&folder.join("image.dll"), names, IN_IMAGE);
    }
}

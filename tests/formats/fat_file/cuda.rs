//! Compares fatbins in objects and programs with `cuobjdump`.

use super::inputs::{LINKS, link};
use super::{assert_is_there, containers, text};
use offload_format::fat_file::{ContainerKind, Content};
use offload_format::nv_fatbin::{self, NvFatbin};
use offload_tests::judges::cuda_images;
use offload_tests::prelude::*;

#[test(COMPILERS.slow())]
fn cuda_programs() {
    let folder = scratch::folder("fat-file-cuda");
    let fatbins =
        corpus("nv_fatbin").into_iter().filter(|path| !path.ends_with("relocatable_ptx.fatbin"));
    let fatbins = fatbins.map(|path| format!(".p2align 3\n.incbin \"{}\"\n", path.display()));
    let text = fatbins.collect::<Vec<_>>().join(".p2align 6\n");
    for section in [".nv_fatbin", "__nv_relfatbin"] {
        // Put zeros before, between and after the fatbins, as a linker may.
        let text = format!(".section {section},\"a\"\n.zero 16\n{text}.zero 24\n");
        scratch::write(folder.join("fatbins.s"), text);
        run(llvm("clang"), &folder, "-c fatbins.s");
        assert_as_cuobjdump_lists(&folder.join("fatbins.o"), section);
        for how in LINKS {
            assert_as_cuobjdump_lists(&link(&folder, how, &["fatbins.o"]), section);
        }
    }
}

fn assert_as_cuobjdump_lists(path: &Path, section: &str) {
    let file = read(path);
    let mut ours = [0, 0];
    for (place, container) in containers(&file) {
        let Content::Container(ContainerKind::Fatbin, fatbins) = container else {
            panic!("{place:?}: {container:?}")
        };
        assert_is_there(&file, &place, fatbins);
        assert_eq!(text(place.section), section);
        for fatbin in NvFatbin::in_a_row(fatbins) {
            let (_, fatbin) = fatbin.expect("a fatbin");
            let images = fatbin.entries().flat_map(|entry| entry.images());
            for image in images.filter(|image| image.kind != nv_fatbin::FatbinImageKind::LTO_IR) {
                ours[usize::from(image.kind.is_ptx())] += 1;
            }
        }
    }
    let listed = cuda_images(path);
    let theirs =
        ["cubin", "ptx"].map(|kind| listed.iter().filter(|image| image.ends_with(kind)).count());
    assert!(theirs.iter().all(|count| *count > 1), "{listed:?}");
    assert_eq!(ours, theirs, "{}: {listed:?}", path.display());
}

//! Programs with the objects that this library writes, compared with LLVM 22's `llvm-objdump` and
//! `roc-obj-ls`.

use super::inputs::{LINKS, LINUX, a_bundle, in_folder, link, offload_binaries, our_object};
use super::{
    ROC_OBJ, assert_bundles_are_extracted, assert_images_are_listed, bundle_entries, uris,
};
use offload_format::fat_file::FileKind;
use offload_format::section::DeviceSection;
use offload_tests::data::read;
use offload_tests::judges::roc_obj_lists;
use offload_tests::scratch;
use offload_tests::tools::{llvm, succeed};

offload_tests::tests! {
    ROC_OBJ => [a_program_with_our_object],
}

fn a_program_with_our_object() {
    let folder = scratch::folder("fat-file-ours");
    scratch::write(
        folder.join("hip.o"),
        our_object(&LINUX, DeviceSection::HipFatbin, "pack_hip", &a_bundle()),
    );
    scratch::write(
        folder.join("llvm.o"),
        our_object(&LINUX, DeviceSection::LlvmOffloading, "pack_llvm", &offload_binaries()),
    );
    scratch::write(
        folder.join("user.c"),
        "extern const char pack_hip[], pack_llvm[]; const char *volatile packs[2];
         void use(void) { packs[0] = pack_hip; packs[1] = pack_llvm; }",
    );
    succeed(in_folder(llvm("clang"), &folder).args(["-fPIC", "-c", "user.c"]));
    for name in ["hip.o", "llvm.o"] {
        assert_eq!(FileKind::identify(&read(folder.join(name))), Some(FileKind::Host));
    }
    assert_bundles_are_extracted(&folder.join("hip.o"), 2);
    assert_images_are_listed(&folder.join("llvm.o"), 2);
    for how in LINKS {
        let program = link(&folder, how, &["user.o", "hip.o", "llvm.o"]);
        assert_bundles_are_extracted(&program, 2);
        assert_images_are_listed(&program, 2);
        assert_eq!(uris(&bundle_entries(&read(&program))), roc_obj_lists(&program), "{how:?}");
    }
}

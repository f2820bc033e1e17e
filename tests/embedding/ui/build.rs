//! The build script of the package whose binaries are the cases. It creates packs, and then damages
//! some of them as a full disk or a curious user might.

use std::fs;
use std::path::{Path, PathBuf};

fn main() {
    for name in [
        "saxpy",
        "cut",
        "magic",
        "image_line",
        "cut_index",
        "other_version",
        "bad_target",
        "removed",
    ] {
        offload_build::Build::new().file("kernels/saxpy.hsaco").archs(["gfx90a"]).compile(name);
    }
    offload_build::Build::new().files(["kernels/saxpy.cubin"]).archs(["sm_90"]).compile("nvidia");
    let mut modules = offload_build::Build::new();
    for name in ["affine", "scale"] {
        modules.module(offload_build::Module::new(name).file("kernels/saxpy.hsaco"));
    }
    modules.archs(["gfx90a"]).compile("modules");

    let folder = PathBuf::from(std::env::var_os("OUT_DIR").unwrap()).join("offload");
    let library = |pack: &str| {
        let start = format!("liboffload_{pack}_");
        let name = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().into_owned();
        let mut files = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
        // In the file's name, a hash of 32 digits follows `start`. The name of another pack has the
        // same beginning, so the length is checked.
        files
            .find(|path| name(path).starts_with(&start) && name(path).len() == start.len() + 32 + 2)
            .unwrap()
    };
    let edit = |path: &Path, change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = fs::read(path).unwrap();
        change(&mut bytes);
        fs::write(path, bytes).unwrap();
    };
    edit(&library("cut"), &|bytes| bytes.truncate(bytes.len() - 100));
    edit(&library("magic"), &|bytes| {
        let magic = b"__CLANG_OFFLOAD_BUNDLE__";
        let at = bytes.windows(magic.len()).position(|window| window == magic).unwrap();
        bytes[at] = b'X';
    });
    let edit_text = |name: &str, change: &dyn Fn(&str) -> String| {
        edit(&folder.join(name), &|bytes| *bytes = change(str::from_utf8(bytes).unwrap()).into());
    };
    edit_text("image_line.index", &|text| text.replace("image gfx90a ", "image gfx90a x"));
    edit_text("cut_index.index", &|text| text.split_inclusive('\n').take(4).collect());
    edit_text("other_version.index", &|text| text.replacen("offload-pack ", "offload-pack 9", 1));
    edit_text("other_version.rs", &|text| text.replacen("// ", "// 9", 1));
    edit_text("bad_target.index", &|text| text.replace("image gfx90a ", "image gfx90a:xnack "));
    fs::remove_file(library("removed")).unwrap();
}

//! Tests `include_offload!` with its options, for packs and for files. (`link_matrix` tests
//! `retain`.)

mod check_cost;
mod clang_linker_wrapper;
mod crate_kinds;
mod files;
mod from_disk;

use offload_tests::containers::hip_bundle;
use offload_tests::prelude::*;

/// Returns an image from the corpus.
fn image(name: &str) -> Vec<u8> {
    corpus_file(&format!("image/{name}"))
}

/// Returns a HIP bundle with one code object.
fn bundle(code_object: &[u8]) -> Vec<u8> {
    hip_bundle(4096, &[("hipv4-amdgcn-amd-amdhsa--gfx90a", code_object)])
}

/// The body of the build script of [`with_packs`].
const PACKS: &str = r#"Build::new().file("src/files/saxpy.gfx90a.hsaco").archs(["gfx90a"]).compile("amd");
    Build::new()
        .files(["src/files/saxpy.gfx90a.hsaco", "src/files/saxpy.ptx"])
        .archs(["gfx90a", "compute_80"])
        .compile("mixed");"#;

/// Returns a package without Rust sources. Its build script builds the packs `amd` and `mixed` from
/// supplied images. The package also contains the bundle `src/files/saxpy.hipfb`.
fn with_packs(name: &str) -> Scenario {
    let mut scenario = Scenario::without_sources(name);
    scenario.feature("offload-gpu", "files");
    scenario
        .build_script(PACKS)
        .write("src/files/saxpy.gfx90a.hsaco", image("saxpy.gfx90a.hsaco"))
        .write("src/files/saxpy.hipfb", bundle(&image("saxpy.gfx90a.hsaco")))
        .write("src/files/saxpy.ptx", image("saxpy.compute_80.ptx"));
    scenario
}

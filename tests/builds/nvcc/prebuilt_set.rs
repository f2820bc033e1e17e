//! A dev build that uses a release build's prebuilt set, with images from nvcc and clang. Checks
//! the manifest, and runs a build that must not start a compiler.

use super::package;
use crate::NVCC_AND_CLANG;

#[test(NVCC_AND_CLANG.slow())]
fn a_dev_build_uses_the_set_of_a_release_build() {
    let scenario = package("vendor_prebuilt", "");
    scenario.build_script(
        r#"println!("cargo::rerun-if-env-changed=LEVEL");
    println!("cargo::rerun-if-env-changed=DEBUGGED");
    let mut build = Build::new();
    build.file("kernels/plain.cu").arch("compute_80");
    build.compile("by_clang");
    build.compiler(Compiler::Nvcc).clone().compile("by_nvcc");
    if let Ok(level) = std::env::var("LEVEL") {
        build.opt_level(level.parse().unwrap());
    }
    if std::env::var_os("DEBUGGED").is_some() {
        build.debug(true);
    }
    build.compile("as_asked");"#,
    );
    // The profile sets the level only for this package. Otherwise, Cargo would recompile the
    // dependencies.
    let profile = "[profile.release.package.vendor_prebuilt]\nopt-level = \"s\"\n";
    scenario.write("Cargo.toml", scenario.text("Cargo.toml") + profile);
    let release = scenario.build().release();
    release.env("OFFLOAD_PREBUILT", "update").env("LEVEL", "2").passes();
    let optimized = ["by_clang", "by_nvcc", "as_asked"].map(|pack| {
        let text = scenario.text(&format!("prebuilt/{pack}.manifest"));
        let level = text.lines().find_map(|line| line.strip_prefix("optimization "));
        level.expect("a manifest has the level").to_owned()
    });
    assert_eq!(optimized, ["s", "3", "2"]);

    // The dev build may use the set, because a different Cargo profile does not count as a
    // different option. Different settings in build.rs do.
    let dev = |level: &str| {
        let build = scenario.build().env("OFFLOAD_PREBUILT", "only").env("LEVEL", level);
        build.env("NVCC", "/nowhere/nvcc")
    };
    let packs = ["by_clang", "by_nvcc", "as_asked"];
    let line = |pack: &str| {
        format!(
            "pack \"{pack}\": using prebuilt images for compute_80 from \
                                     prebuilt/"
        )
    };
    dev("2").passes().each_once(packs.map(line));
    let other = "prebuilt/as_asked.manifest was made with different options";
    dev("3").fails().once(&format!("{other} (kernels/plain.cu (opt_level 2)"));
    dev("2").env("DEBUGGED", "1").fails().once(other);
}

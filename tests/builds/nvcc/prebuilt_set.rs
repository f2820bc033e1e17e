//! A dev build that uses the prebuilt set of a release build, with images that nvcc and clang made.
//! The tests check the manifest, and run a build that may start no compiler.

use super::{BOTH, package};
use offload_tests::scenario::Scenario;

offload_tests::tests! {
    BOTH.slow() => [a_dev_build_uses_the_set_of_a_release_build],
}

/// Returns the line of a pack's manifest about optimization.
fn optimization(scenario: &Scenario, pack: &str) -> String {
    let text = scenario.text(&format!("prebuilt/{pack}.manifest"));
    let line = text.lines().find_map(|line| line.strip_prefix("optimization "));
    line.unwrap_or_else(|| panic!("no such line: {text}")).to_owned()
}

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
    // Only this package has the level; otherwise Cargo would compile the dependencies again.
    let profile = "[profile.release.package.vendor_prebuilt]\nopt-level = \"s\"\n";
    scenario.write("Cargo.toml", scenario.text("Cargo.toml") + profile);
    let release = scenario.build().release();
    release.env("OFFLOAD_PREBUILT", "update").env("LEVEL", "2").passes();
    assert_eq!(
        ["by_clang", "by_nvcc", "as_asked"].map(|pack| optimization(&scenario, pack)),
        ["s", "3", "2"]
    );

    // The dev build may use the set: Cargo's profile does not count as an option, but build.rs's
    // settings do.
    let dev = || scenario.build().env("OFFLOAD_PREBUILT", "only").env("NVCC", "/nowhere/nvcc");
    for pack in ["by_clang", "by_nvcc", "as_asked"] {
        dev()
            .env("LEVEL", "2")
            .passes()
            .once(&format!("pack \"{pack}\": compute_80 from prebuilt/"));
    }
    dev().env("LEVEL", "3").fails().once(
        "prebuilt/as_asked.manifest was made with other options (kernels/plain.cu (opt_level 2)",
    );
    dev()
        .env("LEVEL", "2")
        .env("DEBUGGED", "1")
        .fails()
        .once("prebuilt/as_asked.manifest was made with other options");
}

//! Tests of the example's prebuilt set: builds that use the set, changes that make it stale, and
//! its regeneration.

use super::{Built, PREBUILT, PREBUILT_LINE, prebuilt_folder};
use offload_tests::prelude::*;

/// Asserts that the set matches the current kernel and header. If the set is stale, `cargo xtask
/// prebuilt` regenerates it.
#[test(GCC.claimed())]
fn prebuilt_images_stand_in_for_all_gpu_compilers() {
    PREBUILT.check(|target| if target.name == "cpu" { "compiled" } else { "prebuilt" });
    let warning = "warning: saxpy-prebuilt@0.1.0: pack \"saxpy\": using prebuilt images for \
                   gfx90a, gfx942, gfx1100, gfx12-generic, sm_80, sm_90, compute_80 from \
                   prebuilt/, because OFFLOAD_PREBUILT=only";
    assert!(PREBUILT.build.stderr.lines().any(|line| line == warning), "{}", PREBUILT.build);
    PREBUILT.build.once(PREBUILT_LINE);
}

/// Asserts that a build without ptxas uses the prebuilt set only for the cubins, and compiles all
/// other images.
#[test(needs(&[Tool::Llvm22, Tool::Gcc, Tool::HideablePtxas]).slow())]
fn only_cubins_are_prebuilt_without_ptxas() {
    let built = Built::new("saxpy-without-ptxas", "release", |build| {
        build.without(&["CUDA_HOME"]).path_without("ptxas")
    });
    built.check(|target| if target.file.ends_with(".cubin") { "prebuilt" } else { "compiled" });
    let warning = "warning: saxpy-without-ptxas@0.1.0: pack \"saxpy\": using prebuilt images for \
                   sm_80, sm_90 from prebuilt/, because no ptxas was found";
    assert!(built.build.stderr.lines().any(|line| line == warning), "{}", built.build);
    built.build.once(PREBUILT_LINE);
}

/// Asserts that the set in the repository is what `OFFLOAD_PREBUILT=update` writes, if the
/// compilers are those that built the set.
#[test(COMPILERS.slow().ignored_if(other_compilers))]
fn the_prebuilt_set_is_what_the_compilers_make() {
    let scenario = Scenario::copy_of("examples/saxpy", "saxpy-update");
    let folder = scenario.folder.join("prebuilt");
    fs::remove_dir_all(&folder).expect("the copy has a prebuilt set");
    scenario.build().release().env("OFFLOAD_PREBUILT", "update").passes();
    let [made, kept] = [folder, prebuilt_folder()].map(|it| scratch::contents(&it));
    assert_eq!(made.keys().collect::<Vec<_>>(), kept.keys().collect::<Vec<_>>());
    for (file, bytes) in made {
        let is_same = bytes == kept[&file];
        assert!(
            is_same,
            "{} is not what is made today: run `cargo xtask prebuilt`",
            file.display()
        );
    }
}

/// Returns how this machine's compilers differ from those in the set's manifest; `None` if they do
/// not.
fn other_compilers() -> Option<String> {
    let manifest = fs::read_to_string(prebuilt_folder().join("saxpy.manifest")).ok()?;
    let recorded = |key: &str| {
        manifest.lines().find_map(|line| line.strip_prefix(key)).unwrap_or("").trim().to_owned()
    };
    let first_line_with = |command: &mut Command, word: &str| {
        let text = stdout(&succeed(command.arg("--version")));
        text.lines().find(|line| line.contains(word)).unwrap_or("").trim().to_owned()
    };
    let made_by = [recorded("compiler "), recorded("ptxas ")].join(" and ");
    let here = [
        first_line_with(&mut llvm("clang"), "clang version"),
        first_line_with(&mut cuda("ptxas"), "release"),
    ]
    .join(" and ");
    (made_by != here).then(|| format!("the prebuilt set was made by {made_by}; here are {here}"))
}

//! If a kernel changes or a pack is renamed, the next build must notice the change. The program's
//! output or rustc's errors show whether it does.

use super::{PACK, Targets, program_with_packs, with_pack};
use offload_tests::prelude::*;

/// The lists are shorter than those in `mod.rs`, because each build compiles an image for each
/// target.
const MIXED: Targets = Targets { archs: "gfx90a compute_80", section: ".llvm.offloading" };
const AMD: Targets = Targets { archs: "gfx90a", section: ".hip_fatbin" };

#[test(CLANG.slow())]
fn a_changed_kernel_is_embedded_anew() {
    let scenario = Scenario::without_sources("embed_change");
    with_pack(&scenario);
    program_with_packs(&scenario, &["kernels"]);
    for (profile, incremental, targets) in [
        ("debug", true, MIXED),
        ("debug", false, AMD),
        ("release", true, AMD),
        ("release", false, MIXED),
    ] {
        // The folders in which rustc keeps incremental data.
        let caches = || {
            let folder = fs::read_dir(scenario.target.join(profile).join("incremental"));
            let caches = folder.into_iter().flatten().flatten().map(|cache| cache.path());
            caches.filter(|path| path.to_string_lossy().contains("/embed_change-"))
        };
        caches().for_each(|cache| fs::remove_dir_all(cache).expect("it can be removed"));
        let name = if profile == "debug" { "dev" } else { profile };
        let option = format!("profile.{name}.package.embed_change.incremental={incremental}");
        let pack = |value: &str| {
            scenario.kernel("add", value);
            targets.set(scenario.build().profile(profile).args(["--config", &option])).passes();
            // The program compares the pack in memory with the file `kernels.pack`.
            targets.set(scenario.start(profile)).passes();
            read(scenario.output(profile, "kernels.pack"))
        };
        let (one, two, again) = (pack("1.0f"), pack("2.0f"), pack("1.0f"));
        let what = format!("{profile}, incremental={incremental}, {}", targets.archs);
        assert!(one != two, "{what}: a change of the kernel does not reach the program");
        assert!(one == again, "{what}: the same source does not give the same pack");
        assert_eq!(caches().count() > 0, incremental, "{profile}: rustc's folders");
    }
}

/// After build.rs renames a pack, the old name causes an error, as in a fresh checkout.
#[test(CLANG.slow())]
fn a_pack_that_is_no_longer_made_is_gone() {
    let scenario = Scenario::without_sources("embed_renamed");
    with_pack(&scenario);
    program_with_packs(&scenario, &["kernels"]);
    AMD.set(scenario.build()).passes();
    scenario.pack("other", PACK);
    let printed = AMD.set(scenario.build()).fails();
    printed.has("there is no pack \"kernels\"").has("which made \"other\"");
}

/// Empties OUT_DIR, as users and restored caches do. The next build must create the pack again. A
/// further build without a change must not run the build script.
#[test(CLANG.slow())]
fn an_emptied_folder_is_filled_again() {
    let scenario = Scenario::without_sources("embed_emptied");
    with_pack(&scenario);
    program_with_packs(&scenario, &["kernels"]);
    let build = || AMD.set(scenario.build()).arg("-v").passes();
    build();
    build().found_fresh("embed_emptied");
    let out_dir = scenario.out_dir("debug");
    fs::remove_dir_all(&out_dir).expect("the folder can be removed");
    fs::create_dir(&out_dir).expect("the folder can be made");
    scenario.write("src/main.rs", scenario.text("src/main.rs") + "\n");
    build();
    AMD.set(scenario.start("debug")).passes();
    build().found_fresh("embed_emptied");

    // If there is no folder for packs, either OUT_DIR was emptied, or the build script creates no
    // packs.
    fs::remove_dir_all(out_dir.join("offload")).expect("the folder can be removed");
    scenario.build_script("");
    let printed = AMD.set(scenario.build()).fails();
    printed.has("there is no pack \"kernels\", because ").has(
        "OUT_DIR was emptied after build.rs \
                                                               ran",
    );
}

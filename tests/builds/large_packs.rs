//! Packs of more than 1 GiB. Tests the warning, and the errors for linkers that cannot link such
//! packs. Only build scripts run. Linking such packs takes too long for a test, so this was tried
//! by hand (`offload-build/src/pack/linker.rs` has the results).

use offload_tests::prelude::*;
use std::fs::File;

const GIB: u64 = 1 << 30;

/// Returns a package with an image of this size, `image.hsaco`. The package has a separate target
/// folder, which [`remove`] deletes because it contains files of 1 GiB.
fn package(name: &str, image_size: u64) -> Scenario {
    let scenario = Scenario::new(name).own_target(scratch::folder(&format!("{name}_target")));
    let prebuilt = scratch::workspace().join("examples/saxpy/prebuilt");
    scenario.write("image.hsaco", read(prebuilt.join("saxpy.gfx90a.hsaco")));
    scenario.write("other.ptx", read(prebuilt.join("saxpy.compute_80.ptx")));
    // Enlarge the file with a hole after the image. The hole needs no disk space.
    let image = File::options().write(true).open(scenario.folder.join("image.hsaco"));
    image.and_then(|file| file.set_len(image_size)).expect("the file can be made longer");
    scenario
}

/// Returns a package that makes a pack from its image. The package has no `[dependencies]`, because
/// Cargo would recompile them for each linker.
fn pack_of_one_image(name: &str, image_size: u64) -> Scenario {
    let scenario = package(name, image_size);
    scenario.pack("huge", r#".file("image.hsaco").archs(["gfx90a"])"#);
    let manifest = scenario.text("Cargo.toml");
    let before = manifest.split("[dependencies]").next().expect("there is text");
    scenario.write("Cargo.toml", format!("{before}[workspace]\n"));
    scenario
}

/// Builds a program that is linked with this rustc flag. The build uses `--target`, so the flag
/// does not apply to the build script and the script's crates. These crates are the same in a
/// release build with and without `--target`.
fn build_with_linker<'a>(scenario: &'a Scenario, flag: &str) -> Run<'a> {
    let target = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    scenario.build().release().args(["--target", &target]).env("CARGO_ENCODED_RUSTFLAGS", flag)
}

fn remove(scenario: &Scenario) {
    fs::remove_dir_all(&scenario.target).expect("what Cargo wrote can be removed");
}

#[test(GCC.slow())]
fn a_pack_that_the_linker_cannot_link_is_an_error() {
    if !cfg!(target_arch = "x86_64") {
        return;
    }
    // In the pack, a page with the bundle's entries precedes the image, so the pack is 4096 bytes
    // larger than the image.
    let scenario = pack_of_one_image("large_packs", 3 * GIB / 2 + 1);
    let mold = [
        "but mold links the program (-Clink-arg=-fuse-ld=mold).",
        "mold puts the pack between unwinding tables and code",
        "abort at its first panic",
    ];
    let gnu_ld = [
        "but GNU ld links the program (-Clinker-features=-lld).",
        "GNU ld puts the pack between code and data",
        "- or keep GNU ld: call .large_pack_script() in build.rs, and link with the linker script \
         shown in that method's documentation",
    ];
    let cases = [("-Clink-arg=-fuse-ld=mold", mold), ("-Clinker-features=-lld", gnu_ld)];
    for (flag, of_this_linker) in cases {
        build_with_linker(&scenario, flag)
            .fails()
            .each_once([
                "error: offload-build could not make the pack \"huge\"",
                "the pack is 1.50 GiB (1610616833 bytes), but ",
                "- link with rust-lld, the default linker of rustc 1.90 and newer on x86-64 Linux",
                "- or make the pack smaller, with `compress` or fewer targets",
            ])
            .each_once(of_this_linker);
    }
    remove(&scenario);
}

/// Builds a pack that is slightly larger than 1 GiB, the maximum size without a warning.
#[test(GCC.slow())]
fn a_pack_that_every_linker_can_link_is_worth_a_warning() {
    let scenario = pack_of_one_image("large_pack_warning", GIB + 1);
    build_with_linker(&scenario, "-Clinker-features=-lld").passes().once(
        "pack \"huge\" adds 1.00 GiB (1073745921 bytes) to each program that uses it. `compress` \
         makes the pack smaller",
    );
    remove(&scenario);
}

/// Tests that the warning depends on the compressed size, which is the pack's size in programs. The
/// pack contains PTX, so the pack consists of offload binaries, whose hash is fast to compute.
#[test(GCC.slow())]
fn a_pack_that_is_small_once_compressed_is_not_worth_a_warning() {
    let mut scenario = package("large_compressed_pack", GIB + 1);
    scenario.feature("offload-build", "compression");
    let calls = r#".modules(["image.hsaco", "other.ptx"]).allow_empty().archs(["gfx90a", "compute_80"]).compress()"#;
    scenario.pack("huge", calls);
    scenario.build().passes().lacks("GiB");
    remove(&scenario);
}

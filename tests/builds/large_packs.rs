//! Packs of more than 1 GiB: what the build says of them. Only build scripts run here; what linkers make of such packs takes
//! too long for a test, and was tried by hand (`offload-build/src/linker.rs` has what came of it).

use offload_tests::package::{Package, printed};
use offload_tests::registry::GCC;
use offload_tests::scratch;
use std::fs::{self, File};
use std::process::Output;

offload_tests::tests! {
    GCC => [what_is_too_large_for_the_linker, what_is_not_too_large_compressed],
}

/// A build script that has an image as large as `SIZE` says. The crate does not embed it.
const BUILD: &str = r#"fn main() {
    println!("cargo::rerun-if-env-changed=SIZE");
    offload_build::Build::new().file("image.hsaco").archs(["gfx90a"]).compile("huge");
}
"#;

/// One with PTX is offload binaries, which are compressed without a hash that takes long.
const BUILD_COMPRESSED: &str = r#"fn main() {
    let modules = ["image.hsaco", "other.ptx"];
    offload_build::Build::new().modules(modules).allow_empty().archs(["gfx90a", "compute_80"]).compress().compile("huge");
}
"#;

fn what_is_too_large_for_the_linker() {
    let package = package("large_packs", "", BUILD);
    let target = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    let build = |size: u64, flags: &str| -> Output {
        // A hole behind the image, which takes no room.
        let image = File::options().write(true).open(package.folder.join("image.hsaco"));
        image.and_then(|file| file.set_len(size)).expect("the file can be made longer");
        let mut cargo = package.cargo(&["build", "--target", &target]);
        cargo.env("SIZE", size.to_string()).env("CARGO_ENCODED_RUSTFLAGS", flags).output().expect("cargo starts")
    };

    // The image, which in the pack stands behind a page with the bundle's entries.
    const TOO_LARGE: u64 = (3 << 29) + 1;
    let cases: [(&str, &[&str]); 2] = [
        (
            "-Clink-arg=-fuse-ld=mold",
            &[
                "linked by mold (-Clink-arg=-fuse-ld=mold).",
                "It puts a pack between unwinding tables and code",
                "abort at its first panic",
            ],
        ),
        (
            "-Clinker-features=-lld",
            &[
                "linked by GNU ld (-Clinker-features=-lld).",
                "It puts a pack between code and data",
                "- or, with GNU ld: link with the script on offload-build's front page, and call large_pack_script()",
            ],
        ),
    ];
    if cfg!(target_arch = "x86_64") {
        for (flags, says) in cases {
            let output = build(TOO_LARGE, flags);
            let text = printed(&output);
            assert!(!output.status.success(), "{flags}:\n{text}");
            let always: &[&str] = &[
                "error: offload-build could not make the pack \"huge\"",
                "the pack has 1.50 GiB (1610616833 bytes), and the program is ",
                "- link with rust-lld, which rustc for x86-64 Linux has and uses unless told otherwise (1.90 and newer)",
                "- or make the pack smaller: `compress`, or fewer targets",
            ];
            for part in always.iter().chain(says) {
                assert_eq!(text.matches(part).count(), 1, "{flags}: {part:?} in\n{text}");
            }
        }
    }
    // As large as may be linked by any linker, and a little more than nothing is said of.
    let output = build((1 << 30) + 1, "-Clinker-features=-lld");
    let text = printed(&output);
    assert!(output.status.success(), "{text}");
    let says =
        "pack \"huge\" has 1.00 GiB (1073745921 bytes), in each program that uses it: `compress` makes it smaller";
    assert_eq!(text.matches(says).count(), 1, "{text}");

    remove_outputs(&package, &target);
}

/// Files of 1 GiB each that nobody will look at.
fn remove_outputs(package: &Package, target: &str) {
    let name = package.folder.file_name().expect("a package has a folder").to_string_lossy();
    let builds = fs::read_dir(package.target.join(target).join("debug/build")).expect("Cargo built it");
    for folder in builds.flatten().filter(|it| it.file_name().to_string_lossy().starts_with(&format!("{name}-"))) {
        fs::remove_dir_all(folder.path()).expect("what Cargo wrote can be removed");
    }
}

/// What counts is the size of the pack as programs have it.
fn what_is_not_too_large_compressed() {
    let package = package("large_compressed_pack", ", features = [\"compression\"]", BUILD_COMPRESSED);
    package.write("other.ptx", prebuilt("saxpy.compute_80.ptx"));
    let target = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    let image = File::options().write(true).open(package.folder.join("image.hsaco"));
    image.and_then(|file| file.set_len((1 << 30) + 1)).expect("the file can be made longer");
    let output = package.cargo(&["build", "--target", &target]).output().expect("cargo starts");
    let text = printed(&output);
    assert!(output.status.success() && !text.contains("GiB"), "{text}");
    remove_outputs(&package, &target);
}

fn prebuilt(file: &str) -> Vec<u8> {
    let path = scratch::workspace().join("examples/saxpy/prebuilt").join(file);
    fs::read(path).expect("the image can be read")
}

/// A package with an image to be made longer. Nothing in it is compiled for the target: it would be once more for each of
/// its options.
fn package(name: &str, features: &str, build: &str) -> Package {
    let package = Package::new(name);
    let crates = scratch::workspace().display();
    package.write(
        "Cargo.toml",
        format!(
            "[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[workspace]\n\n\
             [build-dependencies]\noffload-build = {{ path = \"{crates}/offload-build\"{features} }}\n"
        ),
    );
    package.write("build.rs", build).write("src/lib.rs", "").write("image.hsaco", prebuilt("saxpy.gfx90a.hsaco"));
    package
}

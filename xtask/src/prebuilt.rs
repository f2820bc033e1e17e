//! `prebuilt`: makes the examples' GPU images for machines without GPU compilers.

use crate::run::{self, Result, fail};
use crate::setup::{self, Scope};
use crate::{rust_kernels, tools};

/// The workspaces, with their packages that have a prebuilt set, separated by commas.
const PACKAGES: [(&str, &str); 3] = [
    ("Cargo.toml", "saxpy"),
    (
        "examples/Cargo.toml",
        "cuda-vector-add,hip-vector-add,kernel-tests,kernels-by-name,module-library,one-source,several-gpus",
    ),
    ("examples/Cargo.toml", RUST),
];
/// The package with kernels in Rust, for which set-up installs no compiler.
const RUST: &str = "rust-kernels";

/// Runs `cargo xtask prebuilt`; with `--check`, fails if git then sees a difference.
pub fn command(check: bool) -> Result {
    // A missing tool is an error: images that cannot be compiled would stay unchanged, so the set
    // would mix old and new images.
    let setup = setup::run(false, Scope::All);
    setup.complete()?;
    for (manifest, names) in PACKAGES {
        let packages = names.replace(',', " --package ");
        let packages = format!("--manifest-path {manifest} --package {packages}");
        let mut build = setup.cargo(&format!("build --release --locked {packages}"));
        if names == RUST {
            if !tools::RUST_GPU.is_complete() {
                eprintln!(
                    "xtask prebuilt: {RUST} is skipped: `cargo xtask rust-kernels` fetches the compiler that it needs"
                );
                continue;
            }
            build.env("OFFLOAD_RUSTC", rust_kernels::rustc()?);
        }
        // Remove the build scripts' outputs, so that scripts run even if Cargo finds them fresh.
        run::check(&mut setup.cargo(&format!("clean --quiet --release {packages}")))?;
        run::check(build.env("OFFLOAD_PREBUILT", "update"))?;
    }
    if !check {
        return Ok(());
    }
    let mut status = run::command("git", "status --porcelain -- examples/*/prebuilt");
    let changes = run::output(&mut status)?;
    if changes.is_empty() {
        return Ok(());
    }
    fail(format!(
        "the prebuilt images are older than their sources: commit what `cargo xtask prebuilt` wrote\n{changes}"
    ))
}

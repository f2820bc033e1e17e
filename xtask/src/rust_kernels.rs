//! `rust-kernels`: tests kernel crates in Rust, including examples/rust-kernels. It is a
//! separate command because it needs a large compiler, takes minutes to build `core`, and uses
//! unstable targets.

use crate::run::{self, Result, fail};
use crate::setup::{self, Scope, Setup};
use crate::{apt, files, tools};
use std::path::PathBuf;

/// Runs `cargo xtask rust-kernels`.
pub fn command() -> Result {
    let setup = setup::prepare(Scope::All)?;
    fetch()?;
    test(&setup)
}

/// Unpacks the compiler, unless it is already there.
pub fn fetch() -> Result {
    if tools::RUST_GPU.is_complete() {
        return Ok(());
    }
    let (need, folder) = (tools::RUST_GPU.need, tools::RUST_GPU.folder());
    // Never replace a folder that the user has named.
    if !apt::is_here() || run::var(tools::RUST_GPU.variable).is_some() {
        return fail(format!("no {} in `{}`; {}", need.what, folder.display(), need.elsewhere));
    }
    apt::unpack(&need.packages(), &folder)
}

/// Runs the step of `ci` if the compiler is installed. The step does not install the compiler,
/// which is too large for such a small test.
pub fn in_ci(setup: &Setup) -> Result {
    if tools::RUST_GPU.is_complete() {
        return test(setup);
    }
    eprintln!(
        "xtask ci: rust-kernels is skipped: `cargo xtask rust-kernels` fetches the compiler that it needs"
    );
    Ok(())
}

/// Writes a script that starts the compiler with the path of its libraries. Returns the script's
/// path.
pub fn rustc() -> Result<PathBuf> {
    let script = run::workspace().join("target/xtask/rustc");
    let usr = tools::RUST_GPU.folder().join("usr").display().to_string();
    let text =
        format!("LD_LIBRARY_PATH='{usr}/lib/x86_64-linux-gnu' exec '{usr}/bin/rustc' \"$@\"\n");
    files::write_script(&script, &text)?;
    Ok(script)
}

fn test(setup: &Setup) -> Result {
    for (area, filter) in [("builds", "rust_crates"), ("runtimes", "rust_kernels")] {
        let test = format!("test --locked --package offload-tests --test {area} -- {filter}");
        let folder = tools::RUST_GPU.folder();
        run::check(setup.cargo(&test).env(tools::RUST_GPU.variable, folder))?;
    }
    Ok(())
}

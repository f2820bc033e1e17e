//! `rust-kernels`: tests crates of kernels in Rust, including examples/rust-kernels. It is a
//! separate command because it needs a large compiler, takes minutes to build `core`, and uses
//! unstable targets.

use crate::run::{self, Failure, Result};
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
    let (need, folder) = (tools::RUST_GPU.need, folder());
    if tools::RUST_GPU.is_unpacked(&folder) {
        return Ok(());
    }
    // Never replace a folder that the user has named.
    if !apt::is_here() || run::var(tools::RUST_GPU.variable).is_some() {
        let text = format!("no {} in `{}`; {}", need.what, folder.display(), need.elsewhere);
        return Err(Failure::Failed(text));
    }
    apt::unpack(need.packages, &folder)
}

/// Runs the step of `ci` if the compiler is installed. The step does not install the compiler,
/// which is too large for such a small test.
pub fn in_ci(setup: &Setup) -> Result {
    if tools::RUST_GPU.is_unpacked(&folder()) {
        return test(setup);
    }
    eprintln!(
        "xtask ci: rust-kernels is skipped: `cargo xtask rust-kernels` fetches the compiler that it needs"
    );
    Ok(())
}

/// Returns the folder for the compiler, which may not exist yet.
pub fn folder() -> PathBuf {
    tools::RUST_GPU.folder()
}

/// Writes a script that starts the compiler, which needs the folder of its libraries. Returns the
/// script's path; `None` if the compiler is not unpacked.
pub fn rustc() -> Result<Option<PathBuf>> {
    let folder = folder();
    if !tools::RUST_GPU.is_unpacked(&folder) {
        return Ok(None);
    }
    let script = run::workspace().join("target/xtask/rustc");
    let text = format!(
        "LD_LIBRARY_PATH='{0}/usr/lib/x86_64-linux-gnu' exec '{0}/usr/bin/rustc' \"$@\"\n",
        folder.display()
    );
    files::write_script(&script, &text)?;
    Ok(Some(script))
}

fn test(setup: &Setup) -> Result {
    for (area, filter) in [("builds", "rust_crates"), ("runtimes", "rust_kernels")] {
        let mut test = setup.cargo();
        test.args(["test", "--locked", "--package", "offload-tests", "--test", area, "--", filter]);
        run::check(test.env(tools::RUST_GPU.variable, folder()))?;
    }
    Ok(())
}

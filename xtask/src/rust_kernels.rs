//! `rust-kernels`: tests crates of kernels in Rust, among them examples/rust-kernels. This is a
//! separate command: it needs a large compiler and minutes to build `core`, and the targets are
//! unstable.

use crate::run::{self, Failure, Result};
use crate::setup::{self, Scope, Setup};
use crate::{apt, tools, wheels};
use std::fs;
use std::path::{Path, PathBuf};

/// Runs `cargo xtask rust-kernels`.
pub fn command(args: &[String]) -> Result {
    if let Some(other) = args.first() {
        return Err(Failure::Usage(format!("`rust-kernels` does not know `{other}`")));
    }
    let setup = setup::prepare(Scope::All)?;
    fetch(&folder())?;
    test(&setup)
}

/// Unpacks the compiler into this folder, unless it is already there.
pub fn fetch(folder: &Path) -> Result {
    let need = tools::RUST_GPU;
    if need.is_unpacked(folder) {
        return Ok(());
    }
    if !apt::is_here() {
        let text = format!("no {} in `{}`; {}", need.what, folder.display(), need.elsewhere);
        return Err(Failure::Failed(text));
    }
    apt::unpack(need.packages, folder)
}

/// Runs the step of `ci` if the compiler is installed. The step does not install the compiler,
/// which is large for a small test.
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
    run::var(tools::RUST_GPU_VARIABLE)
        .map_or_else(|| tools::rust_gpu(&run::workspace()), PathBuf::from)
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
        "#!/bin/sh\nLD_LIBRARY_PATH='{0}/usr/lib/x86_64-linux-gnu' exec '{0}/usr/bin/rustc' \"$@\"\n",
        folder.display()
    );
    let written = fs::create_dir_all(script.with_file_name(""))
        .and_then(|()| fs::write(&script, text))
        .and_then(|()| wheels::make_executable(&script));
    written
        .map_err(|error| Failure::Failed(format!("cannot write {}: {error}", script.display())))?;
    Ok(Some(script))
}

fn test(setup: &Setup) -> Result {
    for (area, filter) in [("builds", "rust_crates"), ("runtimes", "rust_kernels")] {
        let mut test = setup.cargo();
        test.args(["test", "--locked", "--package", "offload-tests", "--test", area, "--", filter]);
        run::check(test.env(tools::RUST_GPU_VARIABLE, folder()))?;
    }
    Ok(())
}

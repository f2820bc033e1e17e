//! `prebuilt`: the GPU images that examples/saxpy carries for machines without GPU compilers.

use crate::run::{self, Failure, Result};
use crate::setup;
use std::process::Command;

const PACKAGE: &str = "saxpy";
const FOLDER: &str = "examples/saxpy/prebuilt";

/// `cargo xtask prebuilt [--check]`
pub fn command(args: &[String]) -> Result {
    let check = run::only_flag("prebuilt", "--check", args)?;
    // Images that could not be compiled would be left as they are, and the set would be of two ages.
    let setup = setup::prepare_all()?;
    // The build script must run, whatever Cargo remembers.
    run::check(setup.cargo().args(["clean", "--quiet", "--release", "--package", PACKAGE]))?;
    let mut build = setup.cargo();
    build.args(["build", "--release", "--locked", "--package", PACKAGE]);
    run::check(build.env("OFFLOAD_PREBUILT", "update"))?;
    if check { unchanged() } else { Ok(()) }
}

fn unchanged() -> Result {
    let mut git = Command::new("git");
    git.current_dir(run::workspace()).args(["status", "--porcelain", "--", FOLDER]);
    let (status, changes) = run::stdout(&mut git)?;
    if !status.success() {
        return Err(Failure::Failed(format!("`{}` failed ({status})", run::line(&git))));
    }
    if changes.is_empty() {
        return Ok(());
    }
    Err(Failure::Failed(format!(
        "the prebuilt images are older than their sources: commit what `cargo xtask prebuilt` wrote\n{changes}"
    )))
}

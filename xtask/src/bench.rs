//! `bench`: runs the benchmarks, which compare our tools with those that set-up has found.

use crate::run::{self, Failure, Result};
use crate::setup::{self, Scope};

/// Runs `cargo xtask bench [NAME]`.
pub fn command(args: &[String]) -> Result {
    let setup = setup::prepare(Scope::All)?;
    let mut tools = setup.cargo();
    tools.args([
        "build",
        "--quiet",
        "--release",
        "--locked",
        "--package",
        "offload-tools",
        "--features",
        "drop-in",
    ]);
    run::check(&mut tools)?;
    let mut cargo = setup.cargo();
    cargo
        .args(["run", "--quiet", "--release", "--locked", "--package", "offload-bench", "--"])
        .args(args);
    let status = run::status(&mut cargo)?;
    if status.success() {
        return Ok(());
    }
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    Err(Failure::Said(code.unwrap_or(1)))
}

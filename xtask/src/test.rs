//! `test`: `cargo test` for everything, with the tools that set-up has found.

use crate::run::{self, Failure, Result};
use crate::setup::{self, Setup};

/// `cargo xtask test [ARGS...]`
pub fn command(args: &[String]) -> Result {
    run(&setup::prepare()?, args)
}

/// Runs the tests. Cargo says itself what failed, so nothing is added to it.
pub fn run(setup: &Setup, args: &[String]) -> Result {
    let mut cargo = setup.cargo();
    cargo.arg("test");
    if !names_packages(args) {
        cargo.arg("--workspace");
    }
    let status = run::status(cargo.args(args))?;
    if status.success() {
        return Ok(());
    }
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    Err(Failure::Said(code.unwrap_or(1)))
}

/// Cargo takes `--workspace -p NAME` to mean everything; whoever names a package means that package.
fn names_packages(args: &[String]) -> bool {
    args.iter()
        .take_while(|arg| *arg != "--")
        .any(|arg| arg.starts_with("-p") || arg.starts_with("--package") || arg.starts_with("--manifest-path"))
}

#[cfg(test)]
mod tests {
    use super::names_packages;

    #[test]
    fn named_packages_are_all_that_runs() {
        let names = |line: &str| {
            let args: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            names_packages(&args)
        };
        assert!(names("-p offload-format"));
        assert!(names("--release --package=xtask"));
        assert!(!names("--profile release bundle -- -p"));
        assert!(!names(""));
    }
}

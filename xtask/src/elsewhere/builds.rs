//! The commands that build a host's programs, and the commands that run these.

use super::host::Host;
use super::sysroot::Compiler;
use crate::run;
use crate::setup::Setup;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Settings for builds for a host.
#[derive(Debug)]
pub struct Builds<'a> {
    /// The tools that tests need.
    pub setup: &'a Setup,
    /// The compiler for other hosts.
    pub compiler: &'a Compiler,
    /// The host.
    pub host: &'a Host,
}

impl Builds<'_> {
    /// Returns `cargo COMMAND --target ...`, with the variables that the host needs.
    pub fn cargo(&self, command: &str) -> Command {
        let mut cargo = self.setup.cargo();
        self.compiler.lead(&mut cargo);
        cargo
            .envs(self.host.environment())
            .env_remove("DISPLAY")
            .env("CARGO_TARGET_DIR", target_folder())
            .args([command, "--locked", "--target", self.host.target]);
        cargo
    }

    /// Returns a command that runs a program built for the host, under Wine or qemu if needed.
    pub fn program(&self, program: &Path) -> Command {
        let mut words = self.host.runner();
        words.push(program.display().to_string());
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).envs(self.host.environment()).env_remove("DISPLAY");
        command
    }

    /// Returns the folder into which Cargo puts programs.
    pub fn programs(&self, profile: &str) -> PathBuf {
        target_folder().join(self.host.target).join(profile)
    }
}

/// Returns the target folder, which all hosts share so that dependencies of build scripts are
/// compiled only once.
fn target_folder() -> PathBuf {
    run::workspace().join("target/elsewhere")
}

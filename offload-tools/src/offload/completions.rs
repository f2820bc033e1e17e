//! `cargo offload completions`: prints a shell's completion script.

use super::{Result, out};
use clap_complete::{Shell, generate};
use std::io::Write;
use std::process::ExitCode;

/// Arguments of `cargo offload completions`.
#[derive(Debug, clap::Args)]
#[command(after_help = "bash:  source <(cargo offload completions bash)\n\
    zsh:   cargo offload completions zsh > \"${fpath[1]}/_cargo-offload\"\n\
    fish:  cargo offload completions fish > ~/.config/fish/completions/cargo-offload.fish\n\
    The scripts complete the command `cargo-offload`.\n\
    zsh also completes `cargo offload`.")]
pub struct Args {
    /// bash, zsh, fish, powershell or elvish
    #[arg(value_name = "SHELL", hide_possible_values = true)]
    shell: Shell,
}

pub fn run(args: &Args, mut command: clap::Command) -> Result {
    // Write the script to memory first, because clap_complete panics if it cannot write.
    let mut script = Vec::new();
    generate(args.shell, &mut command, "cargo-offload", &mut script);
    let mut out = out::stdout();
    out.write_all(&script)?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

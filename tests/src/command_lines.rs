//! Runs a tool in a folder. The tool's options are one text, as in a shell.

use crate::processes;
use crate::tools::{stdout, succeed};
use std::path::Path;
use std::process::Command;

/// Sets a command's folder, and adds options, which are separated by spaces.
pub fn in_folder(mut command: Command, folder: &Path, options: &str) -> Command {
    command.current_dir(folder).args(options.split_whitespace());
    command
}

/// Runs a command in a folder, with options that are separated by spaces. Returns its standard
/// output.
#[track_caller]
pub fn run(command: Command, folder: &Path, options: &str) -> String {
    stdout(&succeed(&mut in_folder(command, folder, options)))
}

/// Whether a command succeeds in a folder, with options that are separated by spaces.
#[track_caller]
pub fn succeeds(command: Command, folder: &Path, options: &str) -> bool {
    let output = processes::output(&mut in_folder(command, folder, options));
    output.expect("a tool that was checked starts").status.success()
}

/// Returns `wrapper` with another command as its last arguments, and with that command's folder and
/// variables.
pub fn wrapped(mut wrapper: Command, command: &Command) -> Command {
    wrapper.arg(command.get_program()).args(command.get_args());
    if let Some(folder) = command.get_current_dir() {
        wrapper.current_dir(folder);
    }
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => wrapper.env(name, value),
            None => wrapper.env_remove(name),
        };
    }
    wrapper
}

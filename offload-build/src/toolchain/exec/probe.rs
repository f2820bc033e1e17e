//! Runs probes, in which a tool reports facts about itself or the machine.

use super::variables::{NVCC_FLAGS, WITHHELD};
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};

/// A probed tool's output and exit status.
pub struct Answer {
    pub status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
}

/// Runs a tool with these arguments and an empty standard input, and waits for it. nvcc gets no
/// flags from the environment, because they could make it reject a target that it supports.
///
/// Returns an error if the tool does not start.
pub fn probe(program: &Path, args: &[&OsStr], env: &[(OsString, OsString)]) -> io::Result<Answer> {
    let mut command = Command::new(program);
    command.args(args).stdin(Stdio::null());
    for (name, value) in env {
        command.env(name, value);
    }
    for name in WITHHELD.iter().chain(&NVCC_FLAGS) {
        command.env_remove(name);
    }
    let output = command.output()?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ok(Answer { status: output.status, stdout: text(&output.stdout), stderr: text(&output.stderr) })
}

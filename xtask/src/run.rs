//! Runs commands, and reports failures together with the command line.

use std::ffi::OsStr;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus, Stdio};

/// Why one of our commands failed.
#[derive(Debug)]
pub enum Failure {
    /// The command line is invalid. The exit status is 2, and the help text is printed.
    Usage(String),
    /// An error: the attempt, the result, and the remedy.
    Failed(String),
    /// A program exited with this status after it had printed its own error.
    Said(u8),
}

/// The result of every step.
pub type Result<T = ()> = std::result::Result<T, Failure>;

/// Returns the error with this text: the attempt, the result, and the remedy.
pub fn fail<T>(what: impl Into<String>) -> Result<T> {
    Err(Failure::Failed(what.into()))
}

impl<T: Into<String>> From<T> for Failure {
    fn from(what: T) -> Self {
        Failure::Failed(what.into())
    }
}

impl Failure {
    /// Describes the failure.
    pub fn text(self) -> String {
        match self {
            Failure::Usage(what) | Failure::Failed(what) => what,
            Failure::Said(status) => format!("exit status {status}"),
        }
    }

    /// Prints the failure to standard error and returns its exit status.
    pub fn report(&self, help: &str) -> ExitCode {
        let (text, status) = match self {
            Failure::Usage(what) => (format!("xtask: {what}\n\n{help}"), 2),
            Failure::Failed(what) => (format!("xtask: {what}\n"), 1),
            Failure::Said(status) => (String::new(), *status),
        };
        eprint!("{text}");
        ExitCode::from(status)
    }
}

/// Converts the status of a program that has printed its own error.
pub fn passes(status: ExitStatus) -> Result {
    if status.success() {
        return Ok(());
    }
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    Err(Failure::Said(code.unwrap_or(1)))
}

/// Returns the folder of the workspace.
pub fn workspace() -> PathBuf {
    // Cargo sets the variable for `cargo run`. Without it, a program that was started directly uses
    // the path it was built at.
    let own = std::env::var_os("CARGO_MANIFEST_DIR");
    let own = own.unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
    Path::new(&own).parent().map_or_else(PathBuf::new, Path::to_path_buf)
}

/// Returns a command that runs in the workspace's folder. Spaces separate the arguments.
pub fn command(program: impl AsRef<OsStr>, args: &str) -> Command {
    let mut command = Command::new(program);
    command.args(args.split_whitespace()).current_dir(workspace());
    command
}

/// Returns a command for the `cargo` that runs this program. Spaces separate the arguments.
pub fn cargo(args: &str) -> Command {
    command(var("CARGO").unwrap_or_else(|| "cargo".into()), args)
}

/// Runs a command, and shows its output to the user.
pub fn status(command: &mut Command) -> Result<ExitStatus> {
    command.status().map_err(|error| cannot_start(command, &error))
}

/// Runs a command, and shows its output to the user. Also passes each line of its standard output
/// to a function.
pub fn status_of_piped(command: &mut Command, line: &mut dyn FnMut(&str)) -> Result<ExitStatus> {
    let child = command.stdout(Stdio::piped()).spawn();
    let mut child = child.map_err(|error| cannot_start(command, &error))?;
    let mut from = child.stdout.take().expect("it is piped");
    let mut to = std::io::stdout();
    // Tests print their names before they end, so show incomplete lines immediately.
    let (mut part, mut buffer) = (Vec::new(), [0; 8192]);
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        // Ignore the error: even if nothing reads the output, the command must run to its end.
        let _ = to.write_all(&buffer[..count]).and_then(|()| to.flush());
        part.extend_from_slice(&buffer[..count]);
        while let Some(end) = part.iter().position(|byte| *byte == b'\n') {
            let whole: Vec<u8> = part.drain(..=end).collect();
            line(&String::from_utf8_lossy(&whole[..end]));
        }
    }
    child.wait().map_err(|error| cannot_start(command, &error))
}

/// Runs a command, which must succeed. Sends all its output to standard error.
pub fn check(command: &mut Command) -> Result {
    let status = status(command.stdout(std::io::stderr()))?;
    if status.success() {
        return Ok(());
    }
    fail(format!("`{}` failed ({status})", line(command)))
}

/// Runs a command, and returns its exit status, standard output and standard error. The caller must
/// check the status.
pub fn outcome(command: &mut Command) -> Result<(ExitStatus, String, String)> {
    let output = command.output().map_err(|error| cannot_start(command, &error))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ok((output.status, text(&output.stdout), text(&output.stderr)))
}

/// Runs a command, which must succeed, and returns its standard output.
pub fn output(command: &mut Command) -> Result<String> {
    let (status, text, _) = outcome(command)?;
    if status.success() {
        return Ok(text);
    }
    fail(format!("`{}` failed ({status}):\n{text}", line(command)))
}

/// Whether a command starts and succeeds. Its output is discarded.
pub fn succeeds(command: &mut Command) -> bool {
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}

/// Returns a command as typed into a shell.
pub fn line(command: &Command) -> String {
    let mut words = Vec::new();
    for (name, value) in command.get_envs() {
        if let Some(value) = value {
            words.push(format!("{}={}", name.to_string_lossy(), word(value)));
        }
    }
    // Cargo is started by its full path, but users type only its name.
    let program = Path::new(command.get_program());
    let is_cargo = program.file_name().is_some_and(|name| name == "cargo");
    words.push(word(if is_cargo { OsStr::new("cargo") } else { program.as_os_str() }));
    words.extend(command.get_args().map(word));
    words.join(" ")
}

/// Returns the path of a program in the first folder of `PATH` that contains it.
pub fn on_path(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(|file| file.is_file())
}

/// Returns an environment variable that is set and not empty.
pub fn var(name: &str) -> Option<std::ffi::OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// Whether this is a CI run. In CI, no user can answer questions, and nothing may be skipped.
pub fn is_ci() -> bool {
    var("CI").is_some_and(|value| value != "false" && value != "0")
}

fn cannot_start(command: &Command, error: &std::io::Error) -> Failure {
    Failure::Failed(format!("cannot start `{}`: {error}", line(command)))
}

fn word(word: &OsStr) -> String {
    let word = word.to_string_lossy();
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.into_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_can_be_typed_again() {
        let mut command = Command::new("/somewhere/bin/cargo");
        command.env("RUSTDOCFLAGS", "-D warnings").args(["doc", "--no-deps", "it's", ""]);
        assert_eq!(line(&command), r"RUSTDOCFLAGS='-D warnings' cargo doc --no-deps 'it'\''s' ''");
    }
}

//! Errors and their messages for users.

use std::fmt;
use std::io;
use std::path::Path;
use std::process::ExitCode;

/// The result of a command: its exit status, or the error that ended the command.
pub type Result<T = ExitCode> = std::result::Result<T, Error>;

/// The error that ended a command: the attempt, the failure, and advice. The error is printed as
/// `error: ...`, and the exit status is 1.
#[derive(Debug)]
pub struct Error {
    /// `None` if standard output was closed by its reader.
    text: Option<String>,
    advice: Option<String>,
}

impl Error {
    /// Creates a message with two parts: `attempted: happened`.
    pub fn new(attempted: impl fmt::Display, happened: impl fmt::Display) -> Self {
        Self::text(format!("{attempted}: {happened}"))
    }

    /// Creates a message with one part.
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: Some(text.into()), advice: None }
    }

    /// Adds advice, which is printed on a separate line.
    #[must_use]
    pub fn advice(self, advice: impl Into<String>) -> Self {
        Self { advice: Some(advice.into()), ..self }
    }

    /// Creates the error for an unreadable input.
    pub fn read(path: &Path, error: &io::Error) -> Self {
        Self::file("cannot read", path, error)
    }

    /// Creates the error for an output that cannot be written.
    pub fn write(path: &Path, error: &io::Error) -> Self {
        Self::file("cannot write", path, error)
    }

    fn file(verb: &str, path: &Path, error: &io::Error) -> Self {
        let path = crate::text::escaped_path(path);
        Self::text(format!("{verb} {path}: {}", crate::files::os_message(error)))
    }

    /// Whether standard output was closed by its reader, so that no message is needed.
    pub fn is_broken_pipe(&self) -> bool {
        self.text.is_none()
    }
}

/// Converts an error from writing to standard output. The error has no text if the reader has
/// closed standard output.
impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self { text: None, advice: None },
            _ => Self::new("cannot write to standard output", crate::files::os_message(&error)),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text.as_deref().unwrap_or("standard output was closed"))?;
        match &self.advice {
            Some(advice) => write!(f, "\n  {advice}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Error {}

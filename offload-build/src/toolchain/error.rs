//! The errors that end a build. Each states the attempted operation, the cause, and advice.

use std::fmt;
use std::io;
use std::path::Path;

/// The reason why a build failed.
pub struct Error {
    kind: ErrorKind,
    message: String,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// Invalid configuration in build.rs or an environment variable.
    Config,
    /// A source file or a header folder is missing.
    SourceNotFound,
    /// A compiler is missing, and no prebuilt image replaces its output.
    ToolNotFound,
    /// A compiler rejects a target or a source, or fails.
    ToolFailed,
    /// An image lacks a kernel that build.rs requires.
    KernelMissing,
    /// The prebuilt set does not match the package, or cannot be written.
    Prebuilt,
    /// A dependency does not offer the requested pack.
    Dependency,
    /// Cargo's environment variables are missing, because this program is not a build script.
    Environment,
    /// A file could not be read or written.
    Io,
}

impl Error {
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), source: None }
    }

    pub(crate) fn config(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Config, message)
    }

    pub(crate) fn io(what: &str, path: &Path, source: io::Error) -> Self {
        let message = format!("could not {what} {}", path.display());
        Self { kind: ErrorKind::Io, message, source: Some(Box::new(source)) }
    }

    /// Adds the help after the message, on a separate line.
    pub(crate) fn with_help(mut self, help: &str) -> Self {
        self.message.push('\n');
        self.message.push_str(help);
        self
    }

    /// Adds another error's message after an empty line.
    pub(crate) fn and(self, other: Self) -> Self {
        self.with_help(&format!("\n{other}"))
    }

    pub(crate) fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// Reports that the build script could not do `what`, and ends the script.
    pub(crate) fn report(&self, what: &str) -> ! {
        let mut text = format!("error: offload-build could not {what}\n{self}");
        let mut source = std::error::Error::source(self);
        while let Some(error) = source {
            text.push_str(&format!("\ncaused by: {error}"));
            source = error.source();
        }
        eprintln!("\n{text}\n");
        std::process::exit(1)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// Prints the same text as `Display`, because Rust prints the `Debug` form if a build script's
/// `main` returns this error.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_ref().map(|source| &**source as _)
    }
}

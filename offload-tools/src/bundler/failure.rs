//! Failures that make the tool exit with status 1.

use crate::files::os_message;
use crate::text::escaped;
use std::ffi::OsStr;
use std::io;

/// A message to print before the tool exits with status 1.
#[derive(Debug)]
pub(super) struct Failure {
    message: String,
    /// Details or advice that this tool adds to LLVM's message.
    hint: Option<String>,
}

impl Failure {
    pub(super) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), hint: None }
    }

    /// Returns the failure for the operating system's error about a file.
    pub(super) fn of_file(path: &OsStr, error: &io::Error) -> Self {
        Self::new(format!("'{}': {}", path.to_string_lossy(), os_message(error)))
    }

    /// Returns the failure for the operating system's error about the file of a thin archive's
    /// member.
    pub(super) fn of_member(name: &[u8], error: &io::Error) -> Self {
        Self::new(format!("'{}': {}", escaped(name), os_message(error)))
    }

    pub(super) fn of_content(path: &OsStr, error: &offload_format::Error) -> Self {
        Self::new(format!("'{}': {error}", path.to_string_lossy()))
    }

    pub(super) fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    pub(super) fn print(&self, program: &str) {
        eprintln!("{program}: error: {}", self.message);
        if let Some(hint) = &self.hint {
            eprintln!("{program}: note: {hint}");
        }
    }
}

//! Why a name could not be read.

use alloc::string::{String, ToString};
use core::fmt;

/// A name that does not follow its grammar: the name, the column, and what was expected there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseError {
    text: String,
    position: usize,
    reason: &'static str,
}

impl ParseError {
    pub(crate) fn new(text: &str, position: usize, reason: &'static str) -> Self {
        Self { text: text.to_string(), position, reason }
    }

    /// The name that could not be read.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Offset in bytes, from the start of the name, of the part that is wrong.
    pub fn position(&self) -> usize {
        self.position
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "'{}': {}", self.text, self.reason)?;
        if self.position > 0 {
            write!(f, " (at '{}')", self.text.get(self.position..).unwrap_or(""))?;
        }
        Ok(())
    }
}

impl core::error::Error for ParseError {}

//! The error for a name that could not be parsed.

use alloc::string::{String, ToString};
use core::fmt;

/// The error for a name that does not follow its grammar: the name, the position of the wrong part,
/// and what was expected there.
#[derive(Clone, PartialEq, Eq)]
pub struct ParseError {
    text: String,
    position: usize,
    reason: &'static str,
}

impl ParseError {
    pub(crate) fn new(text: &str, position: usize, reason: &'static str) -> Self {
        Self { text: text.to_string(), position, reason }
    }

    /// Returns the byte offset of the wrong part in the name.
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

/// Prints the same text as `Display`, because Rust prints an error returned from `main` with
/// `Debug`.
impl fmt::Debug for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl core::error::Error for ParseError {}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;

    /// Checks that `Debug` prints the message, because Rust prints an error returned from `main`
    /// with `Debug`.
    #[test]
    fn debug_is_the_message() {
        let error = ParseError::new("sm_9O", 4, "expected a digit");
        assert_eq!(format!("{error:?}"), format!("{error}"));
        let error = crate::Error::new(crate::ErrorKind::BadMagic, "bundle", 0);
        assert_eq!(format!("{error:?}"), format!("{error}"));
    }
}

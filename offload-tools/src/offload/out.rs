//! Prints the commands' output.

use crate::text::{BAD, WARNING, styled};
use anstream::AutoStream;
use std::io::{BufWriter, IsTerminal, StdoutLock, Write};

/// Standard output: buffered, without colour if it is not a terminal. The caller must flush it.
pub type Out = BufWriter<AutoStream<StdoutLock<'static>>>;

pub fn stdout() -> Out {
    BufWriter::new(anstream::stdout().lock())
}

/// Whether standard output is a terminal.
pub fn is_terminal() -> bool {
    std::io::stdout().is_terminal()
}

/// Returns the number of columns; `None` if standard output is not a terminal.
pub fn width() -> Option<usize> {
    let columns =
        terminal_size::terminal_size_of(std::io::stdout()).map(|(width, _)| usize::from(width.0));
    is_terminal().then(|| columns.unwrap_or(80).max(40))
}

/// Prints a warning to standard error; the command continues.
pub fn warn(text: &str) {
    say(&styled(WARNING, "warning:"), text);
}

/// Prints an error to standard error.
pub fn error(text: &str) {
    say(&styled(BAD, "error:"), text);
}

pub fn note(text: &str) {
    say("note:", text);
}

fn say(kind: &str, text: &str) {
    // If standard error is closed, drop the message.
    let _ = writeln!(anstream::stderr().lock(), "{kind} {text}");
}

//! Output of the commands.

use crate::text::{BAD, WARNING, styled};
use anstream::AutoStream;
use std::io::{BufWriter, IsTerminal, StdoutLock, Write};

/// Standard output: buffered, and without colour where no terminal takes it. It has to be flushed.
pub type Out = BufWriter<AutoStream<StdoutLock<'static>>>;

/// Standard output.
pub fn stdout() -> Out {
    BufWriter::new(anstream::stdout().lock())
}

/// Whether a person looks at standard output.
pub fn is_terminal() -> bool {
    std::io::stdout().is_terminal()
}

/// Columns of the terminal that standard output is; `None` if it is none.
pub fn width() -> Option<usize> {
    let columns =
        terminal_size::terminal_size_of(std::io::stdout()).map(|(width, _)| usize::from(width.0));
    is_terminal().then(|| columns.unwrap_or(80).max(40))
}

/// Says on standard error what could not be done, while the command goes on.
pub fn warn(text: &str) {
    say(&styled(WARNING, "warning:"), text);
}

/// Says on standard error why the command ends.
pub fn error(text: &str) {
    say(&styled(BAD, "error:"), text);
}

/// Says something on standard error.
pub fn note(text: &str) {
    say("note:", text);
}

fn say(kind: &str, text: &str) {
    // Where nobody listens, nothing is said.
    let _ = writeln!(anstream::stderr().lock(), "offload: {kind} {text}");
}

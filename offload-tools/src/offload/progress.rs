//! A bar on standard error for work that takes more than a second.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::time::{Duration, Instant};

/// Work of a known number of bytes. Nothing is shown in the first second, or where standard error is no terminal. Who
/// prints to the same terminal meanwhile has no use for it.
#[derive(Debug)]
pub struct Progress {
    bar: ProgressBar,
    begun: Instant,
    what: &'static str,
    total: u64,
}

/// What takes less is not worth a bar.
const QUIET: Duration = Duration::from_secs(1);

impl Progress {
    /// Begins work on so many bytes; `what` is done to them: `reading images`.
    pub fn new(what: &'static str, total: u64) -> Self {
        Self { bar: ProgressBar::hidden(), begun: Instant::now(), what, total }
    }

    /// So many more bytes are done.
    pub fn add(&mut self, bytes: u64) {
        if self.bar.length().is_none() && self.begun.elapsed() >= QUIET && std::io::stderr().is_terminal() {
            self.show();
        }
        self.bar.inc(bytes);
    }

    fn show(&mut self) {
        let done = self.bar.position();
        let bar = ProgressBar::with_draw_target(Some(self.total), ProgressDrawTarget::stderr());
        self.bar = bar.with_elapsed(self.begun.elapsed()).with_position(done).with_message(self.what);
        let style = ProgressStyle::with_template("{msg} {wide_bar} {binary_bytes}/{binary_total_bytes} {eta}");
        if let Ok(style) = style {
            self.bar.set_style(style);
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        // What was printed stays, the bar does not.
        self.bar.finish_and_clear();
    }
}

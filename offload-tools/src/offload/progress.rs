//! A progress bar for work that takes more than a second, if standard error is a terminal.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// A progress bar for work on a known number of bytes. Shows nothing in the first second, or if
/// standard error is not a terminal. Commands that print to the same terminal while they work do
/// not need a progress bar.
#[derive(Debug)]
pub struct Progress {
    bar: ProgressBar,
    begun: Instant,
    what: &'static str,
    total: u64,
}

/// The delay before a bar is shown.
const QUIET: Duration = Duration::from_secs(1);

impl Progress {
    /// Starts a progress bar for work on parts with these sizes in bytes. `what` describes the
    /// work, such as `reading images`.
    pub fn new(what: &'static str, sizes: impl Iterator<Item = u64>) -> Self {
        let total = sizes.fold(0, u64::saturating_add);
        Self { bar: ProgressBar::hidden(), begun: Instant::now(), what, total }
    }

    /// Adds finished bytes.
    pub fn add(&mut self, bytes: u64) {
        if self.bar.length().is_none()
            && self.begun.elapsed() >= QUIET
            && std::io::stderr().is_terminal()
        {
            self.show();
        }
        self.bar.inc(bytes);
    }

    fn show(&mut self) {
        let done = self.bar.position();
        let bar = ProgressBar::with_draw_target(Some(self.total), ProgressDrawTarget::stderr());
        self.bar =
            bar.with_elapsed(self.begun.elapsed()).with_position(done).with_message(self.what);
        let style = ProgressStyle::with_template(
            "{msg} {wide_bar} {binary_bytes}/{binary_total_bytes} {eta}",
        );
        if let Ok(style) = style {
            self.bar.set_style(style);
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        // Remove the bar, but no other output.
        self.bar.finish_and_clear();
    }
}

/// A progress display for work of unknown length, shown until it is dropped.
#[derive(Debug)]
pub struct Busy(Option<(Sender<()>, JoinHandle<()>)>);

impl Busy {
    /// Starts the progress display. `what` describes the work, such as `compressing`.
    pub fn new(what: &'static str) -> Self {
        Self(std::io::stderr().is_terminal().then(|| {
            let (running, ended) = mpsc::channel::<()>();
            let shown = thread::spawn(move || {
                let goes_on = |time| ended.recv_timeout(time) == Err(RecvTimeoutError::Timeout);
                if goes_on(QUIET) {
                    let bar = ProgressBar::new_spinner().with_message(what);
                    while goes_on(Duration::from_millis(100)) {
                        bar.tick();
                    }
                    bar.finish_and_clear();
                }
            });
            (running, shown)
        }))
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        if let Some((running, shown)) = self.0.take() {
            drop(running);
            // Ignore the result: the thread does not panic, and the work itself is finished.
            let _ = shown.join();
        }
    }
}

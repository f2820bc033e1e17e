//! A progress bar for work that takes more than a second, if standard error is a terminal.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// A progress bar for work on a known number of bytes. Shows nothing in the first second, or if
/// standard error is not a terminal. Commands that print to the same terminal while they work do
/// not need a progress bar.
#[derive(Debug)]
pub struct Progress(ProgressBar);

/// The delay before a bar is shown.
const QUIET: Duration = Duration::from_secs(1);

impl Progress {
    /// Starts a progress bar for work on parts with these sizes in bytes. `what` describes the
    /// work, such as `reading images`.
    pub fn new(what: &'static str, sizes: impl Iterator<Item = u64>) -> Self {
        let total = sizes.fold(0, u64::saturating_add);
        let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::hidden());
        let style = "{msg} {wide_bar} {binary_bytes}/{binary_total_bytes} {eta}";
        let style = ProgressStyle::with_template(style).expect("the template is valid");
        Self(bar.with_style(style).with_message(what))
    }

    /// Adds finished bytes.
    pub fn add(&mut self, bytes: u64) {
        let is_due = self.0.is_hidden() && self.0.elapsed() >= QUIET;
        if is_due && std::io::stderr().is_terminal() {
            self.0.set_draw_target(ProgressDrawTarget::stderr());
        }
        self.0.inc(bytes);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        // Remove the bar, but no other output.
        self.0.finish_and_clear();
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

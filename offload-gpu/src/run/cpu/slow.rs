//! Notes about slow launches, in debug builds.

use super::beside::aside;
use super::running;
use alloc::format;
use alloc::string::{String, ToString};
use core::time::Duration;
use offload_pack::checks::variables;
use std::sync::{Mutex, MutexGuard, Once, PoisonError};
use std::time::Instant;
use std::{env, eprintln, thread};

/// The time after which a launch is reported.
const LONG: Duration = Duration::from_secs(5);

/// Calls `launch`. A debug build reports a slow launch once per process.
pub(super) fn noted<T>(kernel: &str, launch: impl FnOnce() -> T) -> T {
    // One thread watches all launches: starting a thread for each would take longer than a small
    // launch.
    static WATCH: Once = Once::new();
    if !cfg!(debug_assertions) || running::depth() > 0 {
        return launch();
    }
    WATCH.call_once(|| {
        if env::var_os(variables::TIME_LIMIT).is_none() {
            aside(|| eprintln!("{}", note(LONG)));
        }
    });
    let mut watched = watched();
    let is_watched = watched.is_none();
    if is_watched {
        *watched = Some((kernel.to_string(), Instant::now()));
    }
    drop(watched);
    let result = launch();
    if is_watched {
        *self::watched() = None;
    }
    result
}

/// Returns the watched launch: its kernel and its start. Only one launch is watched at a time.
fn watched() -> MutexGuard<'static, Option<(String, Instant)>> {
    static WATCHED: Mutex<Option<(String, Instant)>> = Mutex::new(None);
    WATCHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits for a launch that takes longer than `long`, and returns the note about it.
fn note(long: Duration) -> String {
    loop {
        thread::sleep(long / 5);
        if let Some((kernel, start)) = &*watched()
            && start.elapsed() >= long
        {
            return format!(
                "offload: the kernel {kernel} has run for {} s on the CPU. It may be faster with --release, and much faster without \
                 .debug(true) in build.rs. If it does not end, set {}=60 to end it after 60 s and print where it is",
                start.elapsed().as_secs(),
                variables::TIME_LIMIT
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_launch_is_noted() {
        let note = noted("endless", || note(Duration::from_millis(1)));
        assert!(note.starts_with("offload: the kernel endless has run for 0 s"), "{note}");
        assert!(watched().is_none());
    }
}

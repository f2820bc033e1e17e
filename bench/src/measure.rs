//! Timing.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Prints a row: the name, and the least, the median and the greatest of the times of `runs` runs, after one that does not
/// count.
pub fn row(name: &str, runs: usize, mut run: impl FnMut()) {
    run();
    let mut times: Vec<Duration> = (0..runs)
        .map(|_| {
            let start = Instant::now();
            run();
            start.elapsed()
        })
        .collect();
    times.sort_unstable();
    print_times(name, times[0], times[runs / 2], times[runs - 1]);
}

/// As [`row`], for what takes less than a clock's step: each run is `times` runs.
pub fn row_of_many(name: &str, runs: usize, times: u32, mut run: impl FnMut()) {
    let mut each: Vec<Duration> = (0..runs)
        .map(|_| {
            let start = Instant::now();
            (0..times).for_each(|_| run());
            start.elapsed() / times
        })
        .collect();
    each.sort_unstable();
    print_times(name, each[0], each[runs / 2], each[runs - 1]);
}

fn print_times(name: &str, least: Duration, median: Duration, greatest: Duration) {
    println!("  {name:<58} {:>12} {:>12} {:>12}", text(least), text(median), text(greatest));
}

fn text(time: Duration) -> String {
    let nanoseconds = time.as_nanos();
    match nanoseconds {
        0..10_000 => format!("{nanoseconds} ns"),
        10_000..10_000_000 => format!("{:.2} ms", nanoseconds as f64 / 1e6),
        _ => format!("{:.0} ms", nanoseconds as f64 / 1e6),
    }
}

/// This program, started anew for one task.
pub fn child(task: &str, file: &OsStr) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("a program knows its path"));
    command.args(["child", task]).arg(file);
    command
}

/// One of LLVM's programs, if it is there.
pub fn llvm(name: &str) -> Option<Command> {
    let folder =
        std::env::var_os("OFFLOAD_TEST_LLVM").map_or_else(|| PathBuf::from("/usr/lib/llvm-22/bin"), PathBuf::from);
    let path = folder.join(name);
    path.is_file().then(|| Command::new(path))
}

/// Runs a command that must succeed; what it prints is dropped.
///
/// # Panics
/// If it fails.
pub fn succeed(command: &mut Command) {
    let status = command.stdout(Stdio::null()).status();
    assert!(status.is_ok_and(|status| status.success()), "{command:?} failed");
}

//! Measures the time and memory of functions and processes, and prints them.

use memmap2::Mmap;
use std::ffi::OsStr;
use std::fmt;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Prints a row: the name, and the minimum, median and maximum time of `runs` runs. An additional
/// run first fills the caches.
pub fn row(name: &str, runs: usize, mut run: impl FnMut()) {
    run();
    let times = (0..runs).map(|_| time(&mut run)).collect();
    print_row(name, times);
}

/// Returns how long `run` takes.
pub fn time(run: impl FnOnce()) -> Duration {
    let start = Instant::now();
    run();
    start.elapsed()
}

/// Returns the minimum of these times in seconds, because other work on the machine can only
/// increase a time.
pub fn least(times: &[Duration]) -> f64 {
    times.iter().min().map_or(0.0, Duration::as_secs_f64)
}

/// Prints a row for one or more times, and returns the median.
pub fn print_row(name: &str, mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    let median = times[times.len() / 2];
    print_times(name, times[0], median, times[times.len() - 1]);
    median
}

/// Prints a row like [`row`], for work that is shorter than a clock tick. Each run repeats the work
/// `times` times; the row shows the time of one repetition.
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

/// Returns a command that starts this program again, for one task with one file.
pub fn child(task: &str, file: &OsStr) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("a program knows its path"));
    command.args(["child", task]).arg(file);
    command
}

/// Returns one of LLVM's programs, if it is installed.
pub fn llvm(name: &str) -> Option<Command> {
    llvm_program(name).map(Command::new)
}

/// Returns the path of one of LLVM's programs, if it is installed.
pub fn llvm_program(name: &str) -> Option<PathBuf> {
    let folder = std::env::var_os("OFFLOAD_TEST_LLVM")
        .map_or_else(|| PathBuf::from("/usr/lib/llvm-22/bin"), PathBuf::from);
    Some(folder.join(name)).filter(|path| path.is_file())
}

/// Maps a file into memory.
pub fn map(file: &Path) -> Mmap {
    let file = File::open(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    // SAFETY: no other program writes to the files of a bench while it runs.
    unsafe { Mmap::map(&file) }.expect("the file can be mapped")
}

/// The times and the memory of a process that has ended.
pub struct Run {
    pub time: Duration,
    /// The processor time of the process and of the child processes that it waited for.
    pub processor: Duration,
    /// The peak memory of the process, in bytes.
    peak: u64,
}

/// Runs a process that must succeed, and discards its output.
///
/// # Panics
/// Panics if the process fails.
pub fn process(command: &mut Command) -> Run {
    let start = Instant::now();
    let child = command
        .stdout(Stdio::null())
        .spawn()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let (status, usage) = wait(child);
    let time = start.elapsed();
    assert_eq!(status, 0, "{command:?} failed");
    let of = |time: libc::timeval| Duration::new(time.tv_sec as u64, time.tv_usec as u32 * 1000);
    Run {
        time,
        processor: of(usage.ru_utime) + of(usage.ru_stime),
        peak: usage.ru_maxrss as u64 * 1024,
    }
}

/// Waits for a process; returns its raw exit status, and the time and memory that it used.
fn wait(child: Child) -> (i32, libc::rusage) {
    let mut status = 0;
    // SAFETY: the struct contains only numbers, for which every bit pattern is valid.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the process is a child of this one, nothing else waits for it, and both pointers are
    // valid for writes during the call.
    let waited = unsafe { libc::wait4(child.id() as i32, &mut status, 0, &mut usage) };
    assert_eq!(waited, child.id() as i32, "it can be waited for");
    (status, usage)
}

/// The times of several runs, and their peak memory.
pub struct Summary {
    least: Duration,
    /// The median time: half of the runs took less.
    pub median: Duration,
    greatest: Duration,
    /// The peak memory of any run, in bytes.
    pub peak: u64,
}

impl Summary {
    /// Summarizes runs; there must be at least one.
    pub fn of(mut runs: Vec<Run>) -> Self {
        runs.sort_unstable_by_key(|run| run.time);
        let peak = runs.iter().map(|run| run.peak).max().unwrap_or_default();
        let (least, greatest) = (runs[0].time, runs[runs.len() - 1].time);
        Self { least, median: runs[runs.len() / 2].time, greatest, peak }
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (least, median, greatest) = (text(self.least), text(self.median), text(self.greatest));
        write!(f, "{least:>8} {median:>8} {greatest:>8} {:>4} MB", self.peak / 1_000_000)
    }
}

/// Runs a command that must succeed, and shows its output.
///
/// # Panics
/// Panics if the command fails.
pub fn show(command: &mut Command) {
    let status = command.status();
    assert!(status.is_ok_and(|status| status.success()), "{command:?} failed");
}

/// Runs a command that must succeed, and discards its output.
///
/// # Panics
/// Panics if the command fails.
pub fn succeed(command: &mut Command) {
    let status = command.stdout(Stdio::null()).status();
    assert!(status.is_ok_and(|status| status.success()), "{command:?} failed");
}

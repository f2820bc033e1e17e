//! The CPU's launch log, for tools that test kernels: a file whose path is in `OFFLOAD_CPU_LOG`.
//! Each line consists of fields, separated by tabs:
//!
//! | line | when |
//! |---|---|
//! | `launched`, process, number, `checked` or `plain`, kernel, thread | a thread launches the kernel for the first time; in a test, the thread has the test's name |
//! | `found`, process, number, findings, addresses | a checked image reports this many findings in a launch. An image that checks for races does not count them, so each of its launches has a line. `2=7f0000001000` is the address in parameter 2 |
//! | `endless`, process, number, place | a launch takes longer than `OFFLOAD_CPU_TIME_LIMIT` seconds; then the process ends |

use super::beside::beside;
use super::positive;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::time::Duration;
use offload_pack::checks::variables;
use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io::Write;
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread::ThreadId;
use std::{env, eprintln, process, thread};

/// The exit status if a kernel exceeds the time limit, the same as that of the command `timeout`.
const ENDED: i32 = 124;

/// Returns the path of the launch log, if the variable sets one.
pub(super) fn path() -> Option<OsString> {
    env::var_os(variables::LOG).filter(|path| !path.is_empty())
}

/// Logs that this thread launches a kernel of a checked or a plain image. Returns the number of
/// this kernel and thread in the log; `None` if there is no log.
pub(super) fn launched(kernel: &str, is_checked: bool) -> Option<usize> {
    static KNOWN: Mutex<Vec<(String, bool, ThreadId)>> = Mutex::new(Vec::new());
    path()?;
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let this = thread::current();
    let own = (kernel.to_string(), is_checked, this.id());
    if let Some(number) = known.iter().position(|other| *other == own) {
        return Some(number);
    }
    known.push(own);
    let number = known.len() - 1;
    let image = if is_checked { "checked" } else { "plain" };
    write("launched", &[&number.to_string(), image, kernel, this.name().unwrap_or("")]);
    Some(number)
}

/// Logs a checked image's findings in a launch, and those arguments of the launch that are
/// addresses, each with its position. Launches without findings are logged only once per set of
/// arguments.
pub(super) fn found(
    number: Option<usize>,
    findings: u32,
    addresses: impl Iterator<Item = (usize, usize)>,
) {
    if let Some(number) = number {
        // The logged launches, sorted.
        static KNOWN: Mutex<Vec<(usize, String)>> = Mutex::new(Vec::new());
        let mut words = String::new();
        for (at, address) in addresses {
            let separator = if words.is_empty() { "" } else { " " };
            words += &format!("{separator}{}={address:x}", at + 1);
        }
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        let own = (number, words);
        let place = known.binary_search(&own);
        if place.is_err() || findings > 0 {
            write("found", &[&number.to_string(), &findings.to_string(), &own.1]);
        }
        if let Err(place) = place {
            known.insert(place, own);
        }
    }
}

/// Returns the kernel's name for a checked image's reports. The kernel's number in the log precedes
/// the name, so that tools can find the thread that launched the kernel.
pub(super) fn name_in_reports(number: Option<usize>, kernel: &str) -> String {
    number.map_or_else(|| kernel.to_string(), |number| format!("#{number} {kernel}"))
}

/// Writes a line with a single system call, since processes share the file.
fn write(what: &str, words: &[&str]) {
    let Some(path) = path() else { return };
    let mut line = format!("{what}\t{}", process::id());
    for word in words {
        line.push('\t');
        line.extend(
            word.chars().map(|letter| if letter.is_ascii_control() { ' ' } else { letter }),
        );
    }
    line.push('\n');
    let opened = OpenOptions::new().create(true).append(true).open(&path);
    if let Err(error) = opened.and_then(|mut file| file.write_all(line.as_bytes())) {
        eprintln!(
            "offload: could not write to {}, which {} names: {error}",
            path.display(),
            variables::LOG
        );
    }
}

/// Returns the time limit of a launch, if there is one.
///
/// Returns an error message if `OFFLOAD_CPU_TIME_LIMIT` is not a positive number.
pub(super) fn time_limit() -> Result<Option<Duration>, String> {
    let seconds = positive(variables::TIME_LIMIT, "seconds")?;
    Ok(seconds.map(|seconds| Duration::from_secs(seconds.get())))
}

/// Calls `launch`, and ends the process if the call exceeds the time limit. The message contains
/// the block and thread that `place` returns.
pub(super) fn within(
    limit: Duration,
    (kernel, number): (&str, Option<usize>),
    place: &(dyn Fn() -> String + Sync),
    launch: &mut dyn FnMut(),
) {
    let (has_ended, signal) = (Mutex::new(false), Condvar::new());
    let watch = || {
        let waiting = has_ended.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = signal.wait_timeout_while(waiting, limit, |has_ended| !*has_ended);
        let (has_ended, _) = waited.unwrap_or_else(PoisonError::into_inner);
        if !*has_ended {
            let place = place();
            if let Some(number) = number {
                write("endless", &[&number.to_string(), &place]);
            }
            eprintln!(
                "offload: ended the kernel {kernel} in {place} after {} s on the CPU, the time \
                 limit in {}",
                limit.as_secs(),
                variables::TIME_LIMIT
            );
            process::exit(ENDED);
        }
    };
    // If the system does not allow one more thread, the launch has no time limit.
    beside(1, &watch, &mut || {
        launch();
        *has_ended.lock().unwrap_or_else(PoisonError::into_inner) = true;
        signal.notify_all();
    });
}

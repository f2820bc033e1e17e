//! The log of launches on the CPU, for tools that test kernels. A file that `OFFLOAD_CPU_LOG` names
//! gets a line for each launch and each finding. Words are separated by TABs:
//!
//! | line | when |
//! |---|---|
//! | `launched`, process, kernel, thread | a thread launches the kernel for the first time; in a test it has the test's name |
//! | `found`, process, kernel, thread | a launch in which a checked image reports something |
//! | `endless`, process, kernel, thread, place | a launch takes longer than `OFFLOAD_CPU_TIME_LIMIT`, in seconds; then the process ends |

use super::beside::beside;
use super::positive;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::time::Duration;
use std::fs::OpenOptions;
use std::io::Write;
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread::ThreadId;
use std::{env, eprintln, process, thread};

/// The exit status of a program whose kernel did not end; the command `timeout` uses the same
/// status.
const ENDED: i32 = 124;

pub(super) fn launched(kernel: &str) {
    static KNOWN: Mutex<Vec<(String, ThreadId)>> = Mutex::new(Vec::new());
    if env::var_os("OFFLOAD_CPU_LOG").is_none() {
        return;
    }
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let this = thread::current();
    if !known.iter().any(|(name, thread)| name == kernel && *thread == this.id()) {
        known.push((kernel.to_string(), this.id()));
        write("launched", kernel, &[this.name().unwrap_or("")]);
    }
}

pub(super) fn found(kernel: &str) {
    write("found", kernel, &[thread::current().name().unwrap_or("")]);
}

/// Writes a line with one system call, since processes share the file.
fn write(what: &str, kernel: &str, more: &[&str]) {
    let Some(path) = env::var_os("OFFLOAD_CPU_LOG").filter(|path| !path.is_empty()) else { return };
    let mut line = format!("{what}\t{}\t{kernel}", process::id());
    for word in more {
        line.push('\t');
        line.extend(
            word.chars().map(|letter| if letter.is_ascii_control() { ' ' } else { letter }),
        );
    }
    line.push('\n');
    let opened = OpenOptions::new().create(true).append(true).open(&path);
    if let Err(error) = opened.and_then(|mut file| file.write_all(line.as_bytes())) {
        eprintln!(
            "offload: could not write to {}, which OFFLOAD_CPU_LOG names: {error}",
            path.display()
        );
    }
}

/// Returns the time limit of a launch, if there is one.
///
/// Returns an error in words if `OFFLOAD_CPU_TIME_LIMIT` is not a positive number.
pub(super) fn time_limit() -> Result<Option<Duration>, String> {
    let seconds = positive("OFFLOAD_CPU_TIME_LIMIT", "seconds")?;
    Ok(seconds.map(|seconds| Duration::from_secs(seconds.get())))
}

/// Calls `launch`, and ends the process if the call exceeds the time limit; the message then
/// contains the block and thread that `place` returns.
pub(super) fn within(
    limit: Duration,
    kernel: &str,
    place: &(dyn Fn() -> String + Sync),
    launch: &mut dyn FnMut(),
) {
    let name = thread::current().name().unwrap_or("").to_string();
    let (has_ended, signal) = (Mutex::new(false), Condvar::new());
    let watch = || {
        let waiting = has_ended.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = signal.wait_timeout_while(waiting, limit, |has_ended| !*has_ended);
        let (has_ended, _) = waited.unwrap_or_else(PoisonError::into_inner);
        if !*has_ended {
            let place = place();
            write("endless", kernel, &[&name, &place]);
            eprintln!(
                "offload: the kernel {kernel} has run for {} s on the CPU (OFFLOAD_CPU_TIME_LIMIT) and is ended, in {place}",
                limit.as_secs()
            );
            process::exit(ENDED);
        }
    };
    // If the system allows no further thread, the launch has no time limit.
    beside(1, &watch, &mut || {
        launch();
        *has_ended.lock().unwrap_or_else(PoisonError::into_inner) = true;
        signal.notify_all();
    });
}

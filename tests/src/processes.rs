//! Processes that tests start, and the processor time that they use.
//!
//! The system counts the processor time of ended children for the whole test program, not per
//! thread. [`output`] therefore waits for one child at a time, and reads the counter before and
//! after the wait.

use crate::registry::record;
use std::cell::Cell;
use std::io::{self, Read};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Instant;

thread_local! {
    static OF_CHILDREN: Cell<f64> = const { Cell::new(0.0) };
    static SHARED: Cell<f64> = const { Cell::new(0.0) };
}

/// Does work that many tests share. The first of these tests runs the work, but the work's
/// processor time does not count for that test. The work has its own line in the record.
pub fn shared<T>(name: &str, work: impl FnOnce() -> T) -> T {
    let (start, before) = (Instant::now(), processor_seconds());
    let result = work();
    let (wall, processor) = (start.elapsed().as_secs_f64(), processor_seconds() - before);
    SHARED.set(SHARED.get() + processor);
    record(name, &format!("{wall:.2}\t{processor:.2}"));
    result
}

/// Runs a command like [`Command::output`], with empty standard input, and adds the command's
/// processor time to that of the calling thread.
pub fn output(command: &mut Command) -> io::Result<Output> {
    let command = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    wait_with_output(command.spawn()?)
}

/// Waits for a child like [`Child::wait_with_output`], and adds the child's processor time to that
/// of the calling thread.
pub fn wait_with_output(mut child: Child) -> io::Result<Output> {
    drop(child.stdin.take());
    let stderr = child.stderr.take();
    let stderr = thread::spawn(move || read(stderr));
    let stdout = read(child.stdout.take());
    let stderr = stderr.join().expect("reading does not panic");
    // Both pipes are closed, so the child has ended or is about to end.
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _lock = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let before = ended_children();
    let status = child.wait()?;
    OF_CHILDREN.set(OF_CHILDREN.get() + ended_children() - before);
    Ok(Output { status, stdout: stdout?, stderr: stderr? })
}

/// Reads a pipe to its end. Returns no bytes if there is no pipe.
fn read(from: Option<impl Read>) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.map_or(Ok(0), |mut from| from.read_to_end(&mut bytes))?;
    Ok(bytes)
}

/// Returns the processor seconds of the calling thread, and of the children for which this thread
/// has waited in this module. [`shared`] work does not count. Without `/proc`, returns 0.
pub fn processor_seconds() -> f64 {
    let own = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let own = own.split(' ').next().and_then(|nanoseconds| nanoseconds.parse().ok());
    own.map_or(0.0, |nanoseconds: f64| nanoseconds / 1e9) + OF_CHILDREN.get() - SHARED.get()
}

/// Returns the processor seconds of all ended children of this program.
fn ended_children() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The program's name, in brackets, may contain spaces. The 14th and 15th fields after the name
    // are the children's times in user and system mode, in hundredths of a second.
    let Some((_, fields)) = stat.rsplit_once(") ") else { return 0.0 };
    let hundredths =
        fields.split(' ').skip(13).take(2).filter_map(|field| field.parse::<f64>().ok());
    hundredths.sum::<f64>() / 100.0
}

//! Runs functions on more threads of the operating system, in addition to the thread that launches
//! a kernel.

use super::memory;
use std::thread;

/// The bytes that must be left for a new thread: it ends the program if it finds none.
const SPARE: usize = if usize::BITS < 64 { 1 << 24 } else { 1 << 26 };

/// Calls `own` on this thread and, at the same time, `other` on each of `count` new threads. If the
/// system allows fewer threads, `other` runs only on those.
pub(super) fn beside(count: usize, other: &(dyn Fn() + Sync), own: &mut dyn FnMut()) {
    thread::scope(|scope| {
        for _ in 0..count {
            if !memory::is_left(SPARE) || thread::Builder::new().spawn_scoped(scope, other).is_err()
            {
                break;
            }
        }
        own();
    });
}

/// Calls `run` on a new thread that nothing waits for, if the system allows one.
pub(super) fn aside(run: fn()) {
    if memory::is_left(SPARE) {
        let _ = thread::Builder::new().spawn(run);
    }
}

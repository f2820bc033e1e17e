//! Runs functions on extra OS threads while a kernel is launched.

use super::memory;
use std::thread;

/// How many bytes of memory must be available before a thread is started. With less, the new thread
/// would end the program.
const SPARE: usize = if usize::BITS < 64 { 1 << 24 } else { 1 << 26 };

/// Calls `own` on this thread and, concurrently, `other` on each of `count` new threads, or on
/// fewer if the system does not allow that many.
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

/// Calls `run` on a new detached thread, if the system allows one.
pub(super) fn aside(run: fn()) {
    if memory::is_left(SPARE) {
        let _ = thread::Builder::new().spawn(run);
    }
}

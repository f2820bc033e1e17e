//! Runs functions on more threads of the operating system, in addition to the thread that launches
//! a kernel.

use std::thread;

/// Calls `own` on this thread and, at the same time, `other` on each of `count` new threads. If the
/// system allows fewer threads, `other` runs only on those.
pub(super) fn beside(count: usize, other: &(dyn Fn() + Sync), own: &mut dyn FnMut()) {
    thread::scope(|scope| {
        for _ in 0..count {
            if thread::Builder::new().spawn_scoped(scope, other).is_err() {
                break;
            }
        }
        own();
    });
}

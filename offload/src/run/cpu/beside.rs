//! More threads of the operating system, in addition to the one that launches.

use std::thread;

/// Calls `own`, and at the same time `other` on `count` more threads, or on as many as the system
/// allows.
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

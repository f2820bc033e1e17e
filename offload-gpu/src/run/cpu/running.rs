//! Marks the threads of the operating system on which an image runs blocks.

use core::cell::Cell;
use core::ffi::c_uint;
use std::thread_local;

thread_local! {
    /// How many launches wait for what this thread launches, by their stacks.
    static DEPTH: Cell<c_uint> = const { Cell::new(0) };
}

/// Returns how many launches wait for what this thread launches: more than 0 in a kernel.
pub(super) fn depth() -> c_uint {
    DEPTH.get()
}

/// Calls a function that runs blocks of an image, in a launch of this depth.
pub(super) fn blocks(depth: c_uint, run: &mut dyn FnMut()) {
    let outer = DEPTH.replace(depth + 1);
    run();
    DEPTH.set(outer);
}

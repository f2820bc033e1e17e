//! Handles Ctrl-C. The terminal sends the interrupt to this program, Cargo and the test programs.
//! Cargo and the test programs exit, and this program waits for them.

use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// The exit status that shells report for a program ended by an interrupt.
pub const STATUS: u8 = 130;

static CAME: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// Makes this program remember interrupts instead of ending.
pub fn ignore() {
    let came = CAME.get_or_init(Arc::default);
    #[cfg(unix)]
    // If the handler cannot be registered, an interrupt still ends the program.
    let _ = signal_hook::flag::register(signal_hook::consts::SIGINT, Arc::clone(came));
    #[cfg(not(unix))]
    let _ = came;
}

/// Whether an interrupt arrived since `ignore` was called.
pub fn came() -> bool {
    CAME.get().is_some_and(|came| came.load(Ordering::Relaxed))
}

//! Ctrl-C. The terminal sends it to Cargo and to the test programs, too: they end, and this program
//! waits for them.

use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// The exit status of a program that an interrupt ended, as shells have it.
pub const STATUS: u8 = 130;

static CAME: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// From now on an interrupt does not end this program.
pub fn ignore() {
    let came = CAME.get_or_init(Arc::default);
    #[cfg(unix)]
    // Without it, an interrupt ends the program as before.
    let _ = signal_hook::flag::register(signal_hook::consts::SIGINT, Arc::clone(came));
    #[cfg(not(unix))]
    let _ = came;
}

/// Whether one came.
pub fn came() -> bool {
    CAME.get().is_some_and(|came| came.load(Ordering::Relaxed))
}

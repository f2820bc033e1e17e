//! Removal of files when a signal ends the program.
//!
//! SIGBUS is among the signals: it comes if another process cut a mapped file short. The access
//! that failed is tried again and again until the thread here has cleaned up and ends the process.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// Files half written.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Notes a file that is going to be written.
pub(super) fn add(path: &Path) {
    clean_up_when_signalled();
    lock().push(path.to_owned());
}

/// Forgets a file that is finished or gone.
pub(super) fn remove(path: &Path) {
    lock().retain(|unfinished| unfinished != path);
}

fn lock() -> std::sync::MutexGuard<'static, Vec<PathBuf>> {
    // Nothing in here panics while it holds the lock.
    UNFINISHED.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Lets a signal remove half-written files before it ends the program.
#[cfg(unix)]
pub(super) fn clean_up_when_signalled() {
    use signal_hook::consts::{SIGBUS, SIGHUP, SIGINT, SIGTERM};
    use std::sync::Once;

    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // Rust's own handler for SIGBUS looks for full stacks, and lets the signal end the program
        // at once if it finds none; and signal-hook calls the earlier handlers. SAFETY: the default
        // action is a valid one. Nobody but Rust's runtime has set another before, and on Linux a
        // full stack is SIGSEGV.
        unsafe { libc::signal(SIGBUS, libc::SIG_DFL) };
        // Where this fails, signals end the program as they always did.
        let Ok(mut signals) = signal_hook::iterator::Signals::new([SIGHUP, SIGINT, SIGTERM, SIGBUS]) else { return };
        std::thread::spawn(move || {
            for signal in signals.forever() {
                // The lock is kept, so that no file is begun any more.
                let unfinished = lock();
                for path in unfinished.iter() {
                    let _ = fs::remove_file(path);
                }
                if signal == SIGBUS {
                    eprintln!("error: a file became shorter while it was read, or could not be read from its disk");
                }
                let _ = signal_hook::low_level::emulate_default_handler(signal);
            }
        });
    });
}

#[cfg(not(unix))]
pub(super) fn clean_up_when_signalled() {}

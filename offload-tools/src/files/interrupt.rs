//! Removes unfinished files when a signal, or Ctrl-C on Windows, ends the program.
//!
//! SIGBUS is one of these signals: it arrives if another process truncates a mapped file. The
//! access fails again and again until this module's thread has cleaned up and ended the process.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// The paths of unfinished files.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Adds a file that is about to be written.
pub(super) fn add(path: &Path) {
    clean_up_when_signalled();
    lock().push(path.to_owned());
}

/// Removes a finished or deleted file from the list.
pub(super) fn remove(path: &Path) {
    lock().retain(|unfinished| unfinished != path);
}

fn lock() -> std::sync::MutexGuard<'static, Vec<PathBuf>> {
    // No code in this module panics while it holds the lock.
    UNFINISHED.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn remove_all(unfinished: &[PathBuf]) {
    for path in unfinished {
        let _ = fs::remove_file(path);
    }
}

/// Makes signals remove unfinished files before they end the program.
#[cfg(unix)]
pub(super) fn clean_up_when_signalled() {
    use signal_hook::consts::{SIGBUS, SIGHUP, SIGINT, SIGTERM};
    use std::sync::Once;

    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // Rust's handler for SIGBUS detects stack overflows, and ends the program immediately if
        // the cause is different. signal-hook would call Rust's handler, too, so first replace it
        // with the default action.
        // SAFETY: SIG_DFL is a valid action. It replaces only the handler of Rust's runtime, and on
        // Linux a stack overflow raises SIGSEGV, not SIGBUS.
        unsafe { libc::signal(SIGBUS, libc::SIG_DFL) };
        // If the handler cannot be registered, signals end the program without cleanup.
        let Ok(mut signals) = signal_hook::iterator::Signals::new([SIGHUP, SIGINT, SIGTERM, SIGBUS]) else { return };
        std::thread::spawn(move || {
            for signal in signals.forever() {
                // Hold the lock until the process ends, so that no new file is started.
                let unfinished = lock();
                remove_all(&unfinished);
                if signal == SIGBUS {
                    eprintln!("error: a file was truncated while it was read, or its disk could not be read");
                }
                let _ = signal_hook::low_level::emulate_default_handler(signal);
            }
        });
    });
}

/// Makes Ctrl-C, Ctrl-Break or the end of the console remove unfinished files before the program
/// ends.
#[cfg(windows)]
pub(super) fn clean_up_when_signalled() {
    use std::sync::Once;

    /// Runs on a separate thread that the system creates.
    unsafe extern "system" fn clean_up(_event: u32) -> i32 {
        let unfinished = lock();
        remove_all(&unfinished);
        // Hold the lock until the process ends, so that no new file is started.
        std::mem::forget(unfinished);
        // 0 means not handled, so the system's own handler runs next and ends the process.
        0
    }

    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // If this fails, Ctrl-C ends the program without cleanup. SAFETY: the function has the type
        // that the system requires, lives as long as the program, and does not unwind, because no
        // code in it panics.
        let _ = unsafe { console::SetConsoleCtrlHandler(clean_up, 1) };
    });
}

#[cfg(not(any(unix, windows)))]
pub(super) fn clean_up_when_signalled() {}

/// Windows' functions for Ctrl-C.
#[cfg(windows)]
mod console {
    #[link(name = "kernel32")]
    unsafe extern "system" {
        pub fn SetConsoleCtrlHandler(
            handler: unsafe extern "system" fn(event: u32) -> i32,
            add: i32,
        ) -> i32;
        #[cfg(test)]
        pub fn GenerateConsoleCtrlEvent(event: u32, group: u32) -> i32;
    }
}

#[cfg(all(test, windows))]
mod tests {
    use super::console::{GenerateConsoleCtrlEvent, SetConsoleCtrlHandler};
    use crate::files::Output;
    use std::io::Write;
    use std::path::Path;
    use std::process::Command;
    use std::time::Duration;
    use std::{env, fs, thread};

    /// The variable with the path of the file that the interrupted process is writing.
    const FILE: &str = "OFFLOAD_TEST_INTERRUPTED";

    const NAME: &str = "files::interrupt::tests::ctrl_c_removes_what_is_half_written";

    /// Ignores Ctrl-C, so that the test's process continues.
    unsafe extern "system" fn goes_on(_event: u32) -> i32 {
        1
    }

    #[test]
    #[ignore = "needs a console: `cargo xtask elsewhere windows` runs it in one"]
    fn ctrl_c_removes_what_is_half_written() {
        if let Some(file) = env::var_os(FILE) {
            let mut output = Output::create(Path::new(&file)).unwrap();
            output.write_all(b"half").unwrap();
            thread::sleep(Duration::from_secs(60));
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "old").unwrap();
        let count = || fs::read_dir(folder.path()).unwrap().count();
        let mut writer = Command::new(env::current_exe().unwrap());
        let mut writer =
            writer.args(["--ignored", "--exact", NAME]).env(FILE, &file).spawn().unwrap();
        while count() < 2 {
            assert!(writer.try_wait().unwrap().is_none(), "it began no file");
            thread::sleep(Duration::from_millis(20));
        }
        // SAFETY: the function has the type that the system requires, and does nothing.
        // `GenerateConsoleCtrlEvent` needs only two numbers: Ctrl-C's, and 0 for all processes of
        // this console.
        let sent = unsafe {
            SetConsoleCtrlHandler(goes_on, 1) != 0 && GenerateConsoleCtrlEvent(0, 0) != 0
        };
        if !sent {
            writer.kill().unwrap();
            panic!("there is no console, or it sends no Ctrl-C");
        }
        writer.wait().unwrap();
        assert_eq!(count(), 1, "what was half written is left");
        assert_eq!(fs::read_to_string(&file).unwrap(), "old");
    }
}

//! Functions of the C library that the checks use.

use std::ffi::{c_double, c_int};

unsafe extern "C" {
    /// Ends a process group, if the number is negative.
    pub safe fn kill(process: c_int, signal: c_int) -> c_int;
    pub fn fork() -> c_int;
    pub fn waitpid(child: c_int, status: *mut c_int, options: c_int) -> c_int;
    pub fn _exit(status: c_int) -> !;
    pub fn atexit(function: extern "C" fn()) -> c_int;
    pub safe fn erf(x: c_double) -> c_double;
    pub safe fn erfc(x: c_double) -> c_double;
}

/// `SIGKILL`.
pub const KILL: c_int = 9;

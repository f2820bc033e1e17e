//! Functions of the C library that the checks use.

use std::ffi::{c_double, c_int, c_uint};

/// Functions of numbers.
macro_rules! math {
    ($($of_one:ident)*; $($of_two:ident)*) => {
        unsafe extern "C" {
            $(pub safe fn $of_one(x: c_double) -> c_double;)*
            $(pub safe fn $of_two(x: c_double, y: c_double) -> c_double;)*
        }
    };
}
math! {
    exp exp2 expm1 log log2 log10 log1p cbrt sin cos tan asin acos atan sinh cosh tanh asinh acosh
    atanh erf erfc;
    pow hypot atan2 fmod fdim
}

unsafe extern "C" {
    /// Ends a process group, if the number is negative.
    pub safe fn kill(process: c_int, signal: c_int) -> c_int;
    pub safe fn alarm(seconds: c_uint) -> c_uint;
    pub fn fork() -> c_int;
    pub fn waitpid(child: c_int, status: *mut c_int, options: c_int) -> c_int;
    pub fn _exit(status: c_int) -> !;
    pub fn atexit(function: extern "C" fn()) -> c_int;
}

/// `SIGKILL`.
pub const KILL: c_int = 9;

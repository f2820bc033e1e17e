//! Declares the C library's functions that the checks use.

use std::ffi::{CStr, OsStr, c_char, c_double, c_int, c_uint, c_ulong, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::ptr;

/// Declares C functions whose parameters and results are numbers, as safe functions.
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
    /// Sends a signal to a process or, for a negative number, to a process group.
    pub safe fn kill(process: c_int, signal: c_int) -> c_int;
    pub safe fn alarm(seconds: c_uint) -> c_uint;
    pub fn fork() -> c_int;
    pub fn waitpid(child: c_int, status: *mut c_int, options: c_int) -> c_int;
    pub fn _exit(status: c_int) -> !;
    pub fn atexit(function: extern "C" fn()) -> c_int;
    fn prctl(option: c_int, ...) -> c_int;
    fn dladdr(address: *const c_void, found: *mut Found) -> c_int;
}

/// `Dl_info`: a library's file, and three more pointers.
#[repr(C)]
struct Found {
    file: *const c_char,
    others: [*const c_void; 3],
}

/// `SIGKILL`.
pub const KILL: c_int = 9;

/// Makes the operating system end this process when the thread that started it ends. Checks run in
/// separate process groups, which Ctrl-C does not reach, and a GPU kernel may be endless.
pub fn end_with_parent() {
    const PR_SET_PDEATHSIG: c_int = 1;
    // SAFETY: this option has one argument, a signal.
    unsafe { prctl(PR_SET_PDEATHSIG, KILL as c_ulong) };
}

/// Returns the file of the library that contains this address.
pub fn file_of(address: *const c_void) -> Option<PathBuf> {
    let mut found = Found { file: ptr::null(), others: [ptr::null(); 3] };
    // SAFETY: the function takes any address, and writes four pointers.
    let is_found = unsafe { dladdr(address, &mut found) } != 0 && !found.file.is_null();
    // SAFETY: the name ends with a NUL, and stays valid while the library is loaded.
    is_found.then(|| OsStr::from_bytes(unsafe { CStr::from_ptr(found.file) }.to_bytes()).into())
}

//! Exports a C function for each function of the library. vectors.py declares these functions for
//! Python's `ctypes`. With PyO3, write a `#[pyfunction]` instead of each C function.

use std::ffi::c_int;
use std::slice;

type Function = fn(&mut [f32], f32) -> Result<(), crate::Error>;

/// # Safety
/// `x` must point to `n` numbers that nothing else uses during the call.
unsafe fn call(function: Function, x: *mut f32, n: usize, operand: f32) -> c_int {
    // SAFETY: the caller guarantees that `x` points to `n` numbers.
    let x = unsafe { slice::from_raw_parts_mut(x, n) };
    match function(x, operand) {
        Ok(()) => 0,
        Err(error) => {
            eprintln!("error: {error}");
            1
        }
    }
}

macro_rules! for_python {
    ($($exported:ident $function:ident)*) => {$(
        /// Calls the library's function. Returns 0, or prints the error and returns 1.
        ///
        /// # Safety
        /// `x` must point to `n` numbers that nothing else uses during the call.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $exported(x: *mut f32, n: usize, operand: f32) -> c_int {
            // SAFETY: the caller gives the guarantee that `call` requires.
            unsafe { call(crate::$function, x, n, operand) }
        }
    )*};
}

for_python! {
    vectors_limit limit
    vectors_scale scale
    vectors_shift shift
}

//! Functions for `ctypes`, as vectors.py declares them. With PyO3, a `#[pyfunction]` takes the
//! place of each.

use std::ffi::c_int;
use std::slice;

type Function = fn(&mut [f32], f32) -> Result<(), crate::Error>;

/// # Safety
/// `x` must lead to `n` numbers that nothing else uses meanwhile.
unsafe fn call(function: Function, x: *mut f32, n: usize, operand: f32) -> c_int {
    // SAFETY: the caller answers for it.
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
        /// Returns 0, or 1 after a message.
        ///
        /// # Safety
        /// `x` must lead to `n` numbers that nothing else uses meanwhile.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $exported(x: *mut f32, n: usize, operand: f32) -> c_int {
            // SAFETY: the caller answers for it.
            unsafe { call(crate::$function, x, n, operand) }
        }
    )*};
}

for_python! {
    vectors_limit limit
    vectors_scale scale
    vectors_shift shift
}

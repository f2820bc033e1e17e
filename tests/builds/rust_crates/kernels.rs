//! Kernels of the tests, with a struct of another crate.
#![no_std]
#![feature(abi_gpu_kernel)]

use types::Pair;

/// Writes `a` times each number that `pair` has.
///
/// The grid has one thread.
#[unsafe(no_mangle)]
pub unsafe extern "gpu-kernel" fn scale(a: f32, pair: *const Pair, y: *mut f32, count: usize) {
    if count > FIRST {
        // SAFETY: the launch passes a pair, and at least one number.
        unsafe { *y = a * (*pair).values[0] + types::offset() }
    }
}

/// The program has this number, too.
const FIRST: usize = include!("../../src/first.rs");

/// Kernels may be in modules.
pub mod more {
    #[unsafe(no_mangle)]
    extern "gpu-kernel" fn fill(y: *mut i64, value: i8, is_set: bool) {
        if is_set {
            // SAFETY: the launch passes a number.
            unsafe { *y = i64::from(value) }
        }
    }
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    loop {}
}

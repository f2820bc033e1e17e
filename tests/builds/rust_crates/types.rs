//! Types that kernels and their programs share.
#![no_std]

#[repr(C)]
pub struct Pair {
    pub name: u8,
    pub values: [f32; 2],
    pub count: usize,
}

/// A function in another crate that is not inlined.
#[inline(never)]
pub fn offset() -> f32 {
    1.0
}

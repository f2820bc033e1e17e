//! Types of kernels and their programs.
#![no_std]

#[repr(C)]
pub struct Pair {
    pub name: u8,
    pub values: [f32; 2],
    pub count: usize,
}

/// A function that is not inlined, in another crate.
#[inline(never)]
pub fn offset() -> f32 {
    1.0
}

//! Indices, a barrier, shared memory, warp functions and atomic operations for GPU kernels in Rust.
//! One source can be compiled for AMD's and NVIDIA's GPUs and for the CPU.
//!
//! `offload-build` compiles a crate of kernels with [`rust_crate`]; programs launch the kernels
//! with `offload-gpu`. A crate of kernels is `no_std`, and needs no `feature` of its own:
//!
//! ```
//! # #![allow(unused)]
//! #![no_std]
//! # extern crate std;
//!
//! use core::slice;
//! use offload_kernel::{element, global_index};
//!
//! offload_kernel::kernel! {
//!     /// Computes y = a * x + y.
//!     ///
//!     /// # Safety
//!     /// `x` and `y` have `n` elements, and nothing else uses those of `y` during the launch.
//!     pub unsafe fn saxpy(n: usize, a: f32, x: *const f32, y: *mut f32) {
//!         // SAFETY: the caller guarantees `n` elements, and this thread asks once for its own.
//!         let (x, y) = unsafe { (slice::from_raw_parts(x, n), element(y, n)) };
//!         if let Some(y) = y {
//!             *y += a * x[global_index()];
//!         }
//!     }
//! }
//! # fn main() {
//! #     let mut y = [1.0];
//! #     unsafe { saxpy(1, 2.0, [3.0].as_ptr(), y.as_mut_ptr()) };
//! #     assert_eq!(y, [7.0]);
//! # }
//! ```
//!
//! # Compilers
//!
//! | compiled | by | a kernel is |
//! |---|---|---|
//! | for `amdgcn-amd-amdhsa` or `nvptx64-nvidia-cuda` | nightly Rust; Rust 1.96 of 2026-05-25 was tried | an entry point of an image |
//! | for the CPU, with `--cfg offload_cpu` from `offload-build` | any Rust since 1.89 | an entry point of an image, whose grids run on all cores, with barriers and shared memory |
//! | in other cases: tests of the crate of kernels, rust-analyzer | any Rust since 1.89 | an `unsafe fn`; the thread that calls it is the only thread in its grid, and has no shared memory |
//!
//! Rust 1.96 cannot get the address of shared memory on AMD's GPUs. From gfx9 to gfx11, [`shared`]
//! reads the address from a register. On other GPUs, such as gfx12, it searches for the address,
//! and ends the launch with a trap if the search fails.
//!
//! # Safety
//!
//! A kernel is an `unsafe fn`, because a launch passes addresses to it. The functions in this crate
//! are safe, except [`element`]. [`shared`] returns a pointer, because other threads also write to
//! shared memory: each access needs `unsafe`, and a [`barrier`] or an [`Atomic`] that orders it.
//!
//! On a GPU, a panic ends the launch with a trap, without a message. In an image for the CPU, a
//! panic prints its message with the block and the thread, and ends the program.
//!
//! [`rust_crate`]: https://docs.rs/offload-build/latest/offload_build/struct.Build.html
#![no_std]
#![cfg_attr(
    any(target_arch = "amdgpu", target_arch = "nvptx64"),
    feature(allow_internal_unstable, link_llvm_intrinsics)
)]
#![cfg_attr(target_arch = "amdgpu", feature(core_intrinsics, gpu_intrinsics, stdarch_amdgpu))]
#![cfg_attr(target_arch = "nvptx64", feature(asm_experimental_arch, stdarch_nvptx))]
#![cfg_attr(
    any(target_arch = "amdgpu", target_arch = "nvptx64"),
    allow(internal_features, reason = "the compiler's intrinsics are the interface to a GPU")
)]

#[cfg(test)]
extern crate std;

mod arch;
mod atomic;
mod block;
mod index;
mod kernel;
#[cfg(test)]
mod tests;
mod warp;

pub use arch::Index;
pub use atomic::{Atomic, AtomicInteger, AtomicNumber, scope};
pub use block::{barrier, shared};
pub use index::{
    block_index, block_size, element, global_index, global_x, global_y, global_z, grid_size,
    thread_index,
};
pub use warp::{
    Exchange, all, any, ballot, lane, shuffle, shuffle_down, shuffle_up, shuffle_xor, sync_warp,
    warp_size,
};

/// Tests of a crate of kernels use the panic handler of the standard library.
#[cfg(any(target_arch = "amdgpu", target_arch = "nvptx64"))]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    arch::trap()
}

// The examples of the README are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

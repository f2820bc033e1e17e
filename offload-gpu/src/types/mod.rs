//! Kernel types that Rust lacks: 16-bit and 8-bit floating-point numbers, `bool` in memory, and
//! vectors.
//!
//! | CUDA, HIP or OpenCL | this module |
//! |---|---|
//! | `__half`, `_Float16` | [`F16`] |
//! | `__nv_bfloat16`, `__hip_bfloat16`, `__bf16` | [`Bf16`] |
//! | `__nv_fp8_e4m3`, `__hip_fp8_e4m3` | [`F8E4M3`] |
//! | `__nv_fp8_e5m2`, `__hip_fp8_e5m2` | [`F8E5M2`] |
//! | `__hip_fp8_e4m3_fnuz`, `__hip_fp8_e5m2_fnuz` | [`F8E4M3Fnuz`], [`F8E5M2Fnuz`] |
//! | `bool` in memory | [`Bool`] |
//! | a pointer in a variable | [`Pointer`] |
//! | `float4`, `uchar2` … | [`float4`], [`uchar2`] … |
//! | `__half2`, `__nv_bfloat162`, `__hip_bfloat162` | [`half2`], [`bfloat162`] |
//!
//! All modules of [`include_kernels!`](crate::include_kernels) share these types. Values are plain
//! data without padding. With the `run` feature, the types are `bytemuck::Pod`, and buffers may
//! contain them.
//!
//! ```
//! use offload_gpu::types::{F16, float4};
//!
//! let position: float4 = [0.5, 0.0, 0.0, 1.0].into();
//! assert_eq!(position.w, 1.0);
//! assert_eq!(F16::from_bits(0x3c00).to_bits(), 0x3c00);
//! ```
//!
//! This crate has no arithmetic for [`F16`] and [`Bf16`]. With the feature `half`, `f16` and `bf16`
//! from the crate `half` may be passed in their place, and `into()` converts them.

#[cfg(feature = "half")]
mod half;
#[allow(unsafe_code, reason = "`impl_buffer_item!` implements the traits for plain data")]
mod pointer;
#[allow(unsafe_code, reason = "`impl_buffer_item!` implements the traits for plain data")]
mod scalars;
#[allow(unsafe_code, reason = "`impl_buffer_item!` implements the traits for plain data")]
mod vectors;

pub use pointer::Pointer;
pub use scalars::{Bf16, Bool, F8E4M3, F8E4M3Fnuz, F8E5M2, F8E5M2Fnuz, F16};
pub use vectors::*;

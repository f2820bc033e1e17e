//! The index of a pack of GPU images, the signatures of its kernels, and the Rust code for both.
//! Build scripts, macros and programs share this crate. The formats of LLVM, ROCm and CUDA are in
//! offload-format.
//!
//! | module | contains |
//! |---|---|
//! | [`signature`] | a kernel's launch arguments, as Rust types |
//! | [`pack_index`] | the file that describes a build script's pack to `include_offload!` |
//! | [`checks`] | checks of kernels on the CPU: the checks' names, their environment variables, and the description in an image |
//! | [`expansion`] | Rust code with a function for each kernel of a pack |
//!
//! | feature | adds |
//! |---|---|
//! | `expansion` | [`expansion`], writing of a [`pack_index`], sizes of types: for build scripts and macros |
//! | `images` | conversion of an image's kernels to kernels of the index; enables `expansion` |
//!
//! No feature is on by default. Functions that read an index are `#[inline]`, so only the few
//! programs that call these functions compile them.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod checks;
mod escape;
#[cfg(feature = "expansion")]
pub mod expansion;
pub mod pack_index;
pub mod signature;

// The examples of the README are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

//! The index of a pack of GPU images, the signatures of its kernels, and the Rust code for both:
//! build scripts, macros and programs agree on them. Formats of LLVM, ROCm and CUDA are in
//! offload-format.
//!
//! | module | has |
//! |---|---|
//! | [`signature`] | what launches of a kernel pass, in types of Rust |
//! | [`pack_index`] | the file by which a build script describes a pack to `include_offload!` |
//! | [`checks`] | checks of kernels on the CPU: their names, their variables, and the description in an image |
//! | [`expansion`] | functions for the kernels of a pack, as Rust code |
//!
//! | feature | adds |
//! |---|---|
//! | `expansion` | [`expansion`], writing of a [`pack_index`], sizes of types: for build scripts and macros |
//! | `images` | kernels of the index from those that an image records; brings `expansion` |
//!
//! No feature is on by default. Functions that read are `#[inline]`: few programs read an
//! index, and only those compile them.
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

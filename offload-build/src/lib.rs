//! Compiles GPU kernels in a build script for every target in a list, and packs the results.
//!
//! ```no_run
//! // build.rs, in fn main():
//! offload_build::Build::new()
//!     .file("kernels/saxpy.cu")
//!     .archs(["gfx90a", "gfx1100", "compute_80", "cpu"])
//!     .compile("saxpy");
//! ```
//!
//! The program embeds the pack by its name:
//!
//! ```text
//! // main.rs
//! static SAXPY: offload_gpu::KernelPack = offload_gpu::include_offload!("saxpy");
//! ```
//!
//! # Targets
//!
//! | name | image | made by |
//! |---|---|---|
//! | `gfx90a`, `gfx942:xnack-`, `gfx12-generic` | AMD code object | clang, lld |
//! | `sm_80`, `sm_90a` | cubin: machine code for this NVIDIA architecture | clang, ptxas |
//! | `compute_80` | PTX, which the driver compiles | clang |
//! | `spirv64` | SPIR-V, which a GPU's OpenCL driver compiles, mainly Intel's | clang 22 |
//! | `cpu` | shared object for the host | the C++ compiler: `CXX`, otherwise `c++` |
//! | `native` | one for each kind of GPU in the build machine | |
//! | `all-major`, `all` | one for the first NVIDIA architecture of each major number, or for every one | |
//!
//! `.cu` sources are compiled with this crate's header, so you need no vendor SDK, only `ptxas` for
//! `sm_…` targets. A build without targets is an error. Before the build compiles anything, it
//! checks that the compilers accept each target.
//!
//! # Next questions
//!
//! The pages in this table are in the repository's folder `docs/guide/src/`. Reference pages are in
//! its subfolder `reference/`.
//!
//! | question | answer |
//! |---|---|
//! | How do I get from an empty folder to a number? | page `first-result.md` |
//! | What can this machine build? | `cargo offload doctor`, from the crate offload-tools |
//! | How do I compile many sources? | [`Build::modules`], [`Module`]; page `modules.md` |
//! | Which sources and compilers are there? | [`Language`], [`Compiler`]; `reference/compilers.md` |
//! | How do I list and filter targets? | [`Build::archs`], [`Build::supports`]; `reference/targets.md` |
//! | What can kernels use? | `reference/kernels.md` |
//! | How do I check kernels for races? | page `test.md`; `reference/checks.md` |
//! | How do I compile `<<<...>>>`? | [`Build::compile_static`]; page `launcher-library.md` |
//! | Which environment variables are read? | `reference/variables.md` |
//! | What is compiled again, and when? | `reference/rebuilds.md` |
//! | Does it work with sccache, icecc, distcc? | `reference/launchers.md` |
//! | How do my users build without a compiler? | [`Build::prebuilt`]; page `ship.md` |
//! | How do I use the packs of another package? | [`embed_from`]; page `dependencies.md` |
//! | Can packs be smaller? Can they be large? | [`Build::compress`], [`Build::large_pack_script`]; `reference/large-packs.md` |
//! | What is in `OUT_DIR`? | `reference/out-dir.md` |
//! | What is left to other crates? | `reference/limits.md` |
//!
//! # Features
//!
//! | feature | adds |
//! |---|---|
//! | `containers` | supplied images in fatbins, archives, and consecutive bundles |
//! | `compression` | [`Build::compress`], and supplied files that are compressed; enables `containers` |
//! | `doctor` | the module `doctor`, whose report `cargo offload doctor` prints |
//!
//! No feature is on by default.
#![deny(unsafe_code)]
// Some functions are used only by the `doctor` feature.
#![cfg_attr(not(feature = "doctor"), allow(dead_code))]

mod build;
mod compile;
#[cfg(feature = "doctor")]
pub mod doctor;
mod output;
mod pack;
mod plan;
mod request;
mod targets;
mod toolchain;

pub use build::{Build, ResolvedTargets, StaticLibrary, ToolkitVersion, embed_from};
pub use pack::{Pack, PackedImage, PackedModule};
pub use request::{Compiler, Language, Module, Source};
#[doc(inline)]
pub use toolchain::error::Error;

// Runs the README's examples as doc tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

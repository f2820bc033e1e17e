//! GPU code in Rust programs: packs of images inside the program, and which image a GPU gets.
//!
//! ```toml
//! [dependencies]
//! offload = "0.1"
//!
//! [build-dependencies]
//! offload-build = "0.1"
//! ```
//!
//! The build script compiles kernels for a list of targets (see `offload_build`):
//!
//! ```text
//! offload_build::Build::new()
//!     .file("kernels/saxpy.cu")
//!     .archs(["gfx90a", "gfx1100", "sm_80", "compute_90", "cpu"])
//!     .compile("saxpy");
//! ```
//!
//! The program embeds the pack, and selects the image for the GPU that it found:
//!
//! ```no_run
//! # macro_rules! include_offload { ($($token:tt)*) => {
//! #     offload::__expansion::not_built("saxpy", "this is an example", &[
//! #         offload::__expansion::ModuleRecord { name: "saxpy", first: 0, count: 0, registered: None }])
//! # } }
//! # use offload::{ComputeCapability, DeviceInfo, Kernel, KernelPack};
//! # /*
//! use offload::{ComputeCapability, DeviceInfo, Kernel, KernelPack, include_offload};
//! # */
//!
//! static SAXPY: KernelPack = include_offload!("saxpy");
//! const KERNEL: Kernel = SAXPY.kernel("saxpy"); // a wrong name does not compile
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let h100 = DeviceInfo::cuda(ComputeCapability { major: 9, minor: 0 }, 13000);
//! let image = SAXPY.select(&h100)?; // the error lists each image and why it was refused
//! println!("{} for {}: load {:?}, launch {}", image.kind(), image.target(), image.as_ptr(), KERNEL.name());
//! # Ok(())
//! # }
//! ```
//!
//! | item | is |
//! |---|---|
//! | [`include_offload!`] | a pack of the build script, or a file, inside this program |
//! | [`include_kernels!`], [`Call`], [`Argument`], [`DeviceBuffer`], [`Parameter`](trait@Parameter) | the same, with a function for each kernel |
//! | [`KernelPack`], [`Module`], [`Kernel`], [`Limits`], [`PackImage`] | what is in it |
//! | [`Plain`], [`Compressed`], [`Form`], [`Decompressed`] | whether its images lie there as they are, or have to be decompressed |
//! | [`DeviceInfo`], [`SelectError`], [`mod@select`] | the rules for which image a device gets |
//! | [`assert_supports`] | for the program's own tests: a pack runs on these GPUs |
//! | [`linked_packs`] | all packs that the program retains, on ELF systems with 64 bits; none elsewhere |
//! | [`target`] | names of targets |
//!
//! This crate needs no `std`, but for its features:
//!
//! | feature | adds |
//! |---|---|
//! | `zstd`, `zlib`, or both as `compression` | [`PackImage::decompress`] for packs that are [`Compressed`]; needs std |
//! | `containers` | fatbins, compressed bundles and several bundles in one file for `include_offload!(path = …)` |
//!
//! Files are read by the crate `offload-format`, whose modules [`mod@select`] and [`target`] are re-exported.
#![no_std]
// But for the list of packs, which is in memory whose ends the linker names.
#![deny(unsafe_code)]

extern crate alloc;
#[cfg(feature = "run")]
extern crate std;

mod call;
#[macro_use]
mod include;
mod pack;
mod placement;
#[cfg(feature = "run")]
#[allow(unsafe_code)]
pub mod run;
mod supports;

#[doc(hidden)]
pub mod __expansion;

pub use call::{Argument, Call, DeviceBuffer, Parameter};
/// Derives [`Parameter`](trait@Parameter) for a `repr(C)` struct.
pub use offload_embed_macro::Parameter;
pub use offload_format::pack_index::{Origin, PackImageKind};
pub use offload_format::select::{Choice, ComputeCapability, DeviceInfo, Fit, Refusal, SelectError};
pub use offload_format::{select, target};
pub use pack::{
    Compressed, Decompressed, Form, Kernel, KernelPack, Limits, LinkedPack, Module, PackImage, Plain, linked_packs,
};
pub use supports::assert_supports;

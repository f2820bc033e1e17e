//! GPU code in Rust programs: embeds packs of images in the program, selects the image for a GPU,
//! and launches its kernels.
//!
//! ```toml
//! [dependencies]
//! offload-gpu = "0.1"
//!
//! [build-dependencies]
//! offload-build = "0.1"
//! ```
//!
//! The crates are not published yet, so use them from a checkout: "A complete package" in the
//! repository's README.md shows how.
//!
//! The build script compiles kernels for a list of targets (see `offload_build`):
//!
//! ```text
//! offload_build::Build::new()
//!     .file("kernels/saxpy.cu")
//!     .archs(["gfx90a", "gfx1100", "compute_80", "cpu"])
//!     .compile("saxpy");
//! ```
//!
//! In the program, a macro embeds the pack and generates a function for each kernel. The program
//! then finds a device and launches a kernel on it:
//!
//! ```
//! # mod kernels {
//! #     pub static PACK: offload_gpu::KernelPack = offload_gpu::__expansion::not_built("saxpy", "this is an example", &[
//! #         offload_gpu::__expansion::ModuleRecord::new("saxpy", &[])]);
//! #     use offload_gpu::run::Buffer;
//! #     pub fn saxpy(n: i32, a: f32, x: &Buffer<f32>, y: &mut Buffer<f32>) -> offload_gpu::Call<4, 24> { todo!() }
//! # }
//! # #[cfg(feature = "run")]
//! use offload_gpu::run::{Device, RunError};
//! # /*
//! mod kernels {
//!     offload_gpu::include_kernels!("saxpy");
//! }
//! # */
//!
//! # #[cfg(feature = "run")]
//! fn triple(x: &[f32]) -> Result<Vec<f32>, RunError> {
//!     // The first device that an image fits: a GPU of NVIDIA, AMD or OpenCL, or the CPU.
//!     let device = Device::best_for(&kernels::PACK)?;
//!     let n = x.len() as u32;
//!     let (x, mut y) = (device.buffer(x)?, device.zeros(x.len())?);
//!     let call = kernels::saxpy(n as i32, 3.0, &x, &mut y);
//!     // SAFETY: the kernel touches the first `n` elements of `x` and `y`, and both have `n`.
//!     unsafe { call.launch(&device, n.div_ceil(256), 256)? };
//!     y.to_vec()
//! }
//! ```
//!
//! A program that loads images itself embeds only the pack and selects an image for its device:
//!
//! ```no_run
//! # macro_rules! include_offload { ($($token:tt)*) => {
//! #     offload_gpu::__expansion::not_built("saxpy", "this is an example", &[
//! #         offload_gpu::__expansion::ModuleRecord::new("saxpy", &[])])
//! # } }
//! # use offload_gpu::{ComputeCapability, DeviceInfo, Kernel, KernelPack};
//! # /*
//! use offload_gpu::{ComputeCapability, DeviceInfo, Kernel, KernelPack, include_offload};
//! # */
//!
//! static SAXPY: KernelPack = include_offload!("saxpy");
//! const KERNEL: Kernel = SAXPY.kernel("saxpy"); // a wrong name does not compile
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let h100 = DeviceInfo::cuda(ComputeCapability { major: 9, minor: 0 }, 13000);
//! let image = SAXPY.select(&h100)?; // the error lists each image and why it was refused
//! println!("load {:?} ({}), launch {}", image.as_ptr(), image.target(), KERNEL.name());
//! # Ok(())
//! # }
//! ```
//!
//! | item | description |
//! |---|---|
//! | [`include_offload!`] | embeds the build script's pack or a file in the program |
//! | [`include_kernels!`], [`Call`], [`Argument`], [`DeviceBuffer`], [`Parameter`](trait@Parameter) | embeds the pack with a function for each kernel |
//! | [`types`], [`Alike`] | half-precision numbers, vectors and other types of kernels that Rust lacks |
//! | [`NamedKernel`], [`NamedCall`], [`AnyArgument`], [`Arguments`], [`CallError`] | kernels whose names the program chooses at run time |
//! | [`Variable`] | `__constant__` and `__device__` variables of the sources |
//! | [`mod@run`] | devices, loading, launching, memory |
//! | [`KernelPack`], [`Module`], [`Kernel`], [`Limits`], [`PackImage`] | what a pack contains |
//! | [`Plain`], [`Compressed`], [`Form`], [`Decompressed`] | whether a pack's images are stored plain or compressed |
//! | [`DeviceInfo`], [`SelectError`], [`mod@select`] | the rules that select an image for a device |
//! | [`assert_supports`] | checks in the program's own tests that a pack supports given GPUs |
//! | [`linked_packs`] | all packs that the program retains (empty except on 64-bit ELF systems) |
//!
//! This crate needs no `std`, except for some features:
//!
//! | feature | adds |
//! |---|---|
//! | `run`, which is on by default | [`mod@run`]; needs std |
//! | `macros`, which is on by default | [`include_offload!`], the options and declared kernels of [`include_kernels!`], the derive of [`Parameter`](trait@Parameter). Without this feature, only `include_kernels!("saxpy")` is available, and the Rust parser (`syn`) is not compiled |
//! | `half` | `f16` and `bf16` from the crate `half` as arguments, by value and in buffers |
//! | `cudarc` | `CudaSlice`, `CudaView` and `CudaViewMut` from the crate `cudarc` as arguments; enables `run`. `BufferEvent` documents how launches are ordered relative to cudarc's work |
//! | `zstd`, `zlib`, or both as `compression` | [`PackImage::decompress`] for packs that are [`Compressed`]; needs std |
//! | `files` | files that are embedded by their paths: `include_offload!(path = …)` and `include_kernels!(path = …)` |
//!
//! The `cudarc` feature supports cudarc 0.19, the newest version. A program that uses the feature
//! also depends on cudarc and chooses cudarc's own features, such as the version of CUDA. Before
//! version 1.0, a minor release of this crate may move the feature to a newer cudarc. The previous
//! version then remains available as a feature with its number: `cudarc-0_19`.
//!
//! The crate `offload-format` reads the files, and its module `target` documents the names of
//! targets. This crate re-exports its module [`mod@select`].
#![no_std]
// Unsafe code is allowed for three purposes: the list of packs (memory between two symbols that the
// linker defines), kernel arguments (which can have any type), and driver calls.
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
mod suggest;
mod supports;
mod text;
pub mod types;
mod variable;

#[doc(hidden)]
pub mod __expansion;

#[cfg(feature = "cudarc")]
pub use call::BufferEvent;
#[cfg(feature = "run")]
pub use call::DeviceId;
pub use call::{Alike, AnyArgument, Argument, Arguments, Call, DeviceBuffer, Parameter};
pub use call::{CallError, NamedCall, NamedKernel};
/// Derives [`Parameter`](trait@Parameter) for a `repr(C)` struct.
#[cfg(feature = "macros")]
pub use offload_embed_macro::Parameter;
pub use offload_format::select;
pub use offload_format::select::{
    Choice, ComputeCapability, DeviceInfo, Fit, Refusal, SelectError,
};
pub use offload_pack::pack_index::{Limits, Origin, PackImageKind};
pub use pack::{
    Compressed, Decompressed, Form, Kernel, KernelPack, LinkedPack, Module, PackImage, Plain,
    linked_packs,
};
pub use supports::assert_supports;
pub use variable::Variable;

// The examples of the README are tests.
#[cfg(all(doctest, feature = "run"))]
#[doc = include_str!("../README.md")]
struct Readme;

//! Compiles GPU kernels in a build script, for every target of a list, and packs the results.
//!
//! ```no_run
//! // build.rs, in fn main():
//! offload_build::Build::new()
//!     .file("kernels/saxpy.cu")
//!     .archs(["gfx90a", "gfx1100", "sm_80", "compute_90", "cpu"])
//!     .compile("saxpy");
//! ```
//!
//! ```text
//! // main.rs
//! static SAXPY: offload_format::KernelPack = offload_embed_macro::include_offload!("saxpy");
//! ```
//!
//! # Targets
//!
//! | name | image | made by |
//! |---|---|---|
//! | `gfx90a`, `gfx942:xnack-`, `gfx12-generic` | AMD code object | clang, lld |
//! | `sm_80`, `sm_90a` | cubin: machine code for this NVIDIA architecture | clang, ptxas |
//! | `compute_80` | PTX, which the driver compiles | clang |
//! | `cpu` | shared object for the host | the C++ compiler that the `cc` crate finds |
//!
//! No SDK is needed: `.cu` sources are compiled with the header `offload/kernel.h` of this crate in front (kernel
//! keywords, indices, barriers). An image whose compiler is missing comes from the package's prebuilt set, if that was
//! made from the same sources and options; the build says so. See [`Build::prebuilt`].
//!
//! # Environment variables
//!
//! | variable | means |
//! |---|---|
//! | `OFFLOAD_ARCH_<package>`, `OFFLOAD_ARCH` | targets in place of those in build.rs; `,` `;` or spaces between them. `-` in the package's name is `_` here |
//! | `OFFLOAD_CLANG` | the clang to use |
//! | `OFFLOAD_PTXAS` | the ptxas to use; else `CUDA_HOME`, `CUDA_PATH`, `CUDA_ROOT`, `CUDA_TOOLKIT_ROOT_DIR` with `/bin/ptxas` |
//! | `CXX`, `CXXFLAGS`, … | the C++ compiler for the `cpu` image, as documented by `cc` |
//! | `OFFLOAD_PREBUILT_<package>`, `OFFLOAD_PREBUILT` | `update`: write the prebuilt set; `only`: take every GPU image from it; `never`: don't look at it |
//! | `OFFLOAD_SKIP=1`, `DOCS_RS` | compile nothing: an empty pack, whose `select` says so. For rust-analyzer: `"rust-analyzer.cargo.extraEnv": {"OFFLOAD_SKIP": "1"}` |
//!
//! Cargo runs the build script again when one of them, a source, a header or a compiler changes, by the time stamps of
//! files: after a compiler was replaced by one with an older time stamp, touch build.rs.
//!
//! # What is in `OUT_DIR`
//!
//! ```text
//! offload/
//! ├── include/offload/kernel.h       the header
//! ├── saxpy.index                    what include_offload!("saxpy") reads
//! ├── saxpy.pack                     the pack as it is embedded
//! ├── liboffload_saxpy_<hash>.a      the pack in a host object
//! └── saxpy/                         an image for each target, also of earlier builds: gfx90a.hsaco, sm_80.cubin, …
//!     └── work/                      what lies between source and image, and what each image was made from
//! ```
//!
//! Packs, libraries and indexes appear whole or not at all. An image counts once all its steps have ended. Packs and
//! libraries are left alone when their bytes would be the same.
//!
//! # What kernels can use
//!
//! `__global__`, `__device__`, `__host__`, `__constant__`, `__shared__`, `__launch_bounds__`, `__forceinline__`,
//! `__noinline__`; `threadIdx`, `blockIdx`, `blockDim`, `gridDim`, `warpSize`, `dim3`; `__syncthreads()`; clang's builtins
//! that need no library (`__builtin_sqrtf`). `OFFLOAD_AMDGPU`, `OFFLOAD_NVPTX` or `OFFLOAD_CPU` is defined. A kernel with a
//! barrier has no CPU image: there a kernel's threads run one after another.
#![deny(unsafe_code)]

mod build;
mod cache;
mod cargo;
mod depfile;
mod error;
mod facts;
mod hash;
mod image;
mod jobs;
mod lack;
mod language;
mod module;
mod options;
mod output;
mod pack;
mod plan;
mod prebuilt;
mod ready;
mod run;
mod selector;
mod source;
mod steps;
mod targets;
mod toolchain;

pub use build::Build;
pub use error::{Error, ErrorKind};
pub use language::Language;
pub use module::Module;
pub use offload_format::embedded::Origin;
pub use pack::{Pack, PackedImage, PackedModule};
pub use source::Source;

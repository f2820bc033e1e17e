//! Names of targets. This module does not depend on any container format.
//!
//! A *target ID* names an AMD GPU and the modes that the code was made for:
//! `gfx90a:sramecc+:xnack-`. NVIDIA numbers its architectures: `sm_90a` for machine code,
//! `compute_90` for PTX. A *target triple* names the kind of machine. [`OffloadArch`] is the target
//! of one image in the form of an `--offload-arch` argument: a target ID, an NVIDIA architecture,
//! or `cpu`.
//!
//! | name | grammar | source |
//! |---|---|---|
//! | target triple | `<arch>-<vendor>-<os>[-<env>]`; fields may be empty, left out, or in another's place | LLVM's Triple, 22.1.8 |
//! | target ID | `<processor>(:<feature>(+\|-))*`; each feature once, in any order; canonical in alphabetic order | LLVM's AMDGPUUsage; clang 22.1.8 |
//! | processor | letters, digits, `-`, `_`: `gfx90a`, `gfx9-4-generic`, an alias (`fiji`), `amdgcnspirv` | the table in [`amdgpu`] |
//! | feature | `sramecc`, `xnack`: those that the processor has | the same |
//! | NVIDIA architecture | `(sm\|compute)_<major><minor>[a\|f]`; `minor` is the last digit | CUDA programming guide, CUDA 13 |
//!
//! A bundle entry ID, `<offload kind>-<arch>-<vendor>-<os>-<env>[-<target id>]`, combines a target
//! triple with one of the other names: `bundle::EntryId`.

pub mod amdgpu;
mod code;
mod id;
mod nvidia;
mod offload_arch;
mod parse_error;
#[cfg(any(feature = "select", feature = "write"))]
pub mod product;
mod triple;
mod vendor;

pub use code::{ImageCode, PackImageKind};
pub use id::{CanonicalTargetId, FeatureState, Features, TargetId};
pub use nvidia::{NVIDIA_PARAMETERS_ALIGN, NvidiaArch, NvidiaCode, NvidiaSuffix, PtxVersion};
pub use offload_arch::{OLDEST_CLANG, OffloadArch};
pub use parse_error::ParseError;
pub use triple::TargetTriple;
pub use vendor::Vendor;

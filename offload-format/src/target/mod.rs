//! Names of what code is for. Nothing here knows a container.
//!
//! A *target ID* names an AMD GPU and the modes of it that the code was made for: `gfx90a:sramecc+:xnack-`. NVIDIA
//! numbers its architectures: `sm_90a` for machine code, `compute_90` for PTX. A *target triple* names the kind of
//! machine. [`OffloadArch`] is any of them as `--offload-arch` takes it.

pub mod amdgpu;
mod id;
mod nvidia;
mod offload_arch;
mod parse_error;
mod triple;

pub use id::{FeatureState, Features, TargetId};
pub use nvidia::{NvidiaArch, NvidiaCode, NvidiaSuffix, PtxVersion};
pub use offload_arch::OffloadArch;
pub use parse_error::ParseError;
pub use triple::TargetTriple;

//! Types and functions for macro expansions.
//!
//! Programs must not use these items: they may change in any version. The macros check that their
//! version matches this crate's.

pub use crate::call::{Alike, AnyConst, AnyMut, Argument, Call, DeclaredArgument, Passed, Stored};
pub use crate::call::{
    CallError, NamedGroup, NamedKernel, NamedKernels, NamedTable, named, wanted,
};
pub use crate::call::{Declaration, Recorded, check};
pub use crate::call::{DeclaredParameter, Layout, Parameter, ParameterLayout, layout};
pub use crate::call::{
    Extent, Override, OverrideField, UnknownField, check_override, check_override_field,
};
pub use crate::pack::disk::load as load_from_disk;
pub use crate::pack::registered::{Kernels, Wrapper};
pub use crate::pack::{Compressed, ImageRecord, KernelPack, LinkedPack, ModuleRecord, Plain};
pub use crate::pack::{Kernel, Module, kernel, module};
pub use crate::pack::{file, linked, not_built, on_disk, opaque};
pub use crate::placement::trusted;
#[cfg(feature = "run")]
pub use crate::run::BufferItem;
pub use crate::types;
pub use crate::variable::{Differs, HiddenVariable, Static, Variable};
pub use crate::{
    impl_argument_of_record, impl_record, list_pack, new_variable, override_field, pack_symbol,
    placed_file, register_bundles, track_from_disk, with_half,
};
#[cfg(feature = "run")]
pub use bytemuck;
#[cfg(feature = "cudarc")]
pub use cudarc::driver as cudarc;

/// `size_t` on devices, which have 64-bit pointers.
#[cfg(target_pointer_width = "64")]
pub type Usize = usize;
/// `size_t` on devices, which have 64-bit pointers.
#[cfg(not(target_pointer_width = "64"))]
pub type Usize = u64;
/// `ptrdiff_t` on devices, which have 64-bit pointers.
#[cfg(target_pointer_width = "64")]
pub type Isize = isize;
/// `ptrdiff_t` on devices, which have 64-bit pointers.
#[cfg(not(target_pointer_width = "64"))]
pub type Isize = i64;

#[cfg(feature = "half")]
pub use half;

/// For macros, since a program may use the name `core` for something else.
pub use core;
pub use offload_embed_macro::{include_kernels, include_offload};
pub use offload_format::compression::Method;
pub use offload_format::target::{PtxVersion, SpirvFeatures, SpirvVersion};
pub use offload_pack::pack_index::{ArgumentKind, IndexStream, Limits, Origin, PackImageKind};

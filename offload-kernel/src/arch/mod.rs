//! The instructions of each target. The files have functions of the same names.

#[cfg_attr(target_arch = "amdgpu", path = "amdgpu.rs")]
#[cfg_attr(target_arch = "nvptx64", path = "nvptx.rs")]
#[cfg_attr(all(offload_cpu, not(test)), path = "cpu.rs")]
#[cfg_attr(
    not(any(test, offload_cpu, target_arch = "amdgpu", target_arch = "nvptx64")),
    path = "alone.rs"
)]
#[cfg_attr(test, path = "threads.rs")]
mod target;

pub(crate) use target::*;

/// An index or a size, with a number for each of three dimensions.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Index {
    /// The number in the first dimension, in which neighbours are in the same warp.
    pub x: u32,
    /// The number in the second dimension.
    pub y: u32,
    /// The number in the third dimension.
    pub z: u32,
}

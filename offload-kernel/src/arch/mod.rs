//! The instructions of each target. All files define functions with the same names.

#[cfg_attr(target_arch = "amdgpu", path = "amdgpu.rs")]
#[cfg_attr(target_arch = "nvptx64", path = "nvptx.rs")]
#[cfg_attr(all(offload_cpu, not(test)), path = "cpu.rs")]
#[cfg_attr(
    not(any(test, offload_cpu, target_arch = "amdgpu", target_arch = "nvptx64")),
    path = "alone.rs"
)]
#[cfg_attr(test, path = "threads.rs")]
mod target;

#[cfg_attr(target_arch = "nvptx64", path = "nvptx_atomics.rs")]
mod atomics;

pub(crate) use atomics::HAS_ORDERS;
pub(crate) use target::*;

use core::cell::UnsafeCell;
use core::sync::atomic::Ordering;

/// The threads among which an operation is atomic.
#[derive(Debug, Clone, Copy)]
pub enum Scope {
    Block,
    Device,
    System,
}

/// An operation that reads and writes a number. Floating-point numbers support the first three.
#[derive(Debug, Clone, Copy)]
pub enum Operation {
    Swap,
    Add,
    Sub,
    And,
    Or,
    Xor,
    Min,
    Max,
}

/// A number with atomic operations. Cells are valid memory, aligned to the size of the number.
pub trait AtomicBits: Copy {
    fn load(cell: &UnsafeCell<Self>, order: Ordering, scope: Scope) -> Self;

    fn store(cell: &UnsafeCell<Self>, value: Self, order: Ordering, scope: Scope);

    /// Returns the number from before the operation.
    fn fetch(
        cell: &UnsafeCell<Self>,
        operation: Operation,
        value: Self,
        order: Ordering,
        scope: Scope,
    ) -> Self;

    /// Writes the second value if the number has the bits of the first. The second order is that of
    /// an operation that does not write.
    fn compare_exchange(
        cell: &UnsafeCell<Self>,
        values: [Self; 2],
        orders: [Ordering; 2],
        scope: Scope,
    ) -> Result<Self, Self>;
}

/// An index or a size, with a number for each of three dimensions.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Index {
    /// The number in the first dimension. Neighbors in this dimension are in the same warp.
    pub x: u32,
    /// The number in the second dimension.
    pub y: u32,
    /// The number in the third dimension.
    pub z: u32,
}

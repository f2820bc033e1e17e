//! The kernels of the packs.

/// The kernels of tests/builds/kernel_header, and the mathematical functions: a compressed pack.
pub mod checks {
    use offload_gpu::run::{Buffer, Device, Launch as Shape, RunError};

    offload_gpu::include_kernels!("checks");

    /// The number of values in each of the two buffers that a kernel of a pair gets.
    pub const SIZE: i32 = 128;

    /// Launches the right kernel of a pair.
    type Launch = fn(&Device, &Shape, &mut Buffer<f32>, &mut Buffer<u32>) -> Result<(), RunError>;

    // SAFETY: the kernels are right: they touch the SIZE values of each buffer.
    include!(concat!(env!("OUT_DIR"), "/pairs.rs"));
}

/// The kernel `probe`, in a module for each target.
pub mod each {
    use offload_gpu::run::{Buffer, Device, RunError};

    offload_gpu::include_kernels!("each");

    /// The grid and the block with which `probe` is launched.
    pub const BLOCKS: u32 = 5;
    pub const THREADS: u32 = 64;

    /// Launches `probe` with `n` elements of both buffers.
    type Launch = fn(&Device, &Buffer<f32>, &mut Buffer<f32>, i32) -> Result<(), RunError>;

    /// The module for one target.
    pub struct Each {
        pub target: &'static str,
        pub module: &'static str,
        pub launch: Launch,
    }

    // SAFETY: the kernel reads and writes `n` elements, which both buffers have.
    include!(concat!(env!("OUT_DIR"), "/each.rs"));
}

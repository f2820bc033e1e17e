//! Host code and kernels in one source: `compile_static`, by nvcc and by clang, for NVIDIA's GPUs
//! and for AMD's.

mod device_link;
mod errors;
mod growing;
mod linking;
mod programs;
mod rocm;
mod targets;

/// The content of `kernels/factor.h`.
const FACTOR: &str = "#define FACTOR 2.5f\n";

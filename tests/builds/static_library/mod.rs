//! Host code and kernels in one source: `compile_static` with nvcc and clang, for NVIDIA's and
//! AMD's GPUs.

mod device_link;
mod errors;
mod growing;
mod linking;
mod programs;
mod rocm;
mod targets;

/// The text of `kernels/factor.h`.
const FACTOR: &str = "#define FACTOR 2.5f\n";

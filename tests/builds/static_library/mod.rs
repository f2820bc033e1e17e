//! Host code and kernels in one source: `compile_static`, by nvcc and by clang, for NVIDIA's GPUs and for AMD's.

mod errors;
mod programs;
mod rebuilds;
mod rocm;

offload_tests::tests! {
    ;
    errors::tests(),
    programs::tests(),
    rebuilds::tests(),
    rocm::tests(),
}

/// What `kernels/factor.h` has.
const FACTOR: &str = "#define FACTOR 2.5f\n";

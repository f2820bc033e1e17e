//! Compiles `kernels/vector_add.cu`, host code and kernel, to a static library.

use offload_build::{Build, Compiler};

fn main() {
    Build::new()
        .file("kernels/vector_add.cu")
        // Without this line clang compiles it, with the headers of the CUDA toolkit.
        .compiler(Compiler::Nvcc)
        // Machine code for A100 and kin, and for H100; PTX, which the driver compiles, for all that
        // came and comes later.
        .archs(["sm_80", "sm_90", "compute_80"])
        .compile_static("vector_add");
}

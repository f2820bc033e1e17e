//! Compiles `kernels/vector_add.cu`, host code and kernel, to a static library.

use offload_build::{Build, Compiler};

fn main() {
    Build::new()
        .file("kernels/vector_add.cu")
        // Without this line, clang compiles the source, with the headers of the CUDA toolkit.
        .compiler(Compiler::Nvcc)
        // Machine code for A100 and similar GPUs, and for H100. PTX, which the driver compiles, for
        // all other GPUs from A100 on.
        .archs(["sm_80", "sm_90", "compute_80"])
        .compile_static("vector_add");
}

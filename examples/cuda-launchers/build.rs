//! Compiles the host code and the kernel in `kernels/vector_add.cu` to a static library.

use offload_build::{Build, Compiler};

fn main() {
    Build::new()
        .file("kernels/vector_add.cu")
        // Without this line, clang compiles the source with the CUDA toolkit's headers.
        .compiler(Compiler::Nvcc)
        // Machine code for A100 and similar GPUs, and for H100. All other GPUs from A100 on get
        // PTX, which the driver compiles.
        .archs(["sm_80", "sm_90", "compute_80"])
        .compile_static("vector_add");
}

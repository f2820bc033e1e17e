//! Compiles `kernels/vector_add.cu` for NVIDIA's GPUs.

fn main() {
    offload_build::Build::new()
        .file("kernels/vector_add.cu")
        // Machine code for A100 and similar GPUs, and for H100. All other GPUs from A100 on get
        // PTX, which the driver compiles.
        .archs(["sm_80", "sm_90", "compute_80"])
        .compile("vector_add");
}

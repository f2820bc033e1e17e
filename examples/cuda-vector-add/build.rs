//! Compiles `kernels/vector_add.cu` for NVIDIA's GPUs.

fn main() {
    offload_build::Build::new()
        .file("kernels/vector_add.cu")
        // Machine code for A100 and kin, and for H100; PTX, which the driver compiles, for all that
        // came and comes later.
        .archs(["sm_80", "sm_90", "compute_80"])
        .compile("vector_add");
}

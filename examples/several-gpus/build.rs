//! Compiles `kernels/vector_add.cu` for GPUs of two vendors.

fn main() {
    offload_build::Build::new()
        .file("kernels/vector_add.cu")
        .archs(["gfx90a", "gfx11-generic", "sm_80", "sm_90", "compute_80"])
        .compile("vector_add");
}

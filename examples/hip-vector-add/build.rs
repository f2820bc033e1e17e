//! Compiles `kernels/vector_add.cu` for AMD's GPUs.

fn main() {
    offload_build::Build::new()
        .file("kernels/vector_add.cu")
        // MI200, MI300, and all of RDNA 3.
        .archs(["gfx90a", "gfx942", "gfx11-generic"])
        .compile("vector_add");
}

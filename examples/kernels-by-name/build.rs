//! Compiles `kernels/elementwise.cu` for GPUs of both vendors and for the CPU.

fn main() {
    offload_build::Build::new()
        .file("kernels/elementwise.cu")
        .archs(["gfx90a", "gfx11-generic", "compute_80", "cpu"])
        .compile("elementwise");
}

//! Compiles `kernels/block_sum.cu` for GPUs of both vendors and for the CPU.

fn main() {
    offload_build::Build::new()
        .file("kernels/block_sum.cu")
        .archs(["gfx90a", "gfx11-generic", "sm_80", "compute_80", "cpu"])
        .compile("block_sum");
}

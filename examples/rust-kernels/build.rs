//! Compiles the crate in `kernels` for the CPU and for GPUs. The images for GPUs may come from
//! `prebuilt` instead.

fn main() {
    offload_build::Build::new()
        .rust_crate("kernels")
        .archs(["gfx90a", "gfx942", "gfx1100", "compute_80", "cpu"])
        .compile("kernels");
}

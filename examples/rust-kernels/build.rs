//! Compiles the crate in `kernels` for the CPU and for GPUs, or uses its images for GPUs in
//! `prebuilt`.

fn main() {
    offload_build::Build::new()
        .rust_crate("kernels")
        .archs(["gfx90a", "gfx942", "gfx1100", "compute_80", "cpu"])
        .compile("kernels");
}

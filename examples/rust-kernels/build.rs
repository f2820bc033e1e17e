//! Compiles the crate in `kernels` for the CPU and for GPUs. The GPU images may come from the
//! prebuilt set in `prebuilt` instead.

fn main() {
    offload_build::Build::new()
        .rust_crate("kernels")
        .archs(["gfx90a", "gfx942", "gfx1100", "compute_80", "cpu"])
        .compile("kernels");
}

//! Compiles the crate in `kernels`, or uses its images in `prebuilt`.

fn main() {
    offload_build::Build::new()
        .rust_crate("kernels")
        .archs(["gfx90a", "gfx942", "gfx1100", "compute_80"])
        .compile("kernels");
}

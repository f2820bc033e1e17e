//! Compiles `kernels/saxpy.cu` for two vendors' GPUs and the CPU.

fn main() {
    offload_build::Build::new()
        .file("kernels/saxpy.cu")
        .archs([
            "gfx90a",
            "gfx942",
            "gfx1100",
            "gfx12-generic",
            "sm_80",
            "sm_90",
            "compute_80",
            "cpu",
        ])
        .compile("saxpy");
}

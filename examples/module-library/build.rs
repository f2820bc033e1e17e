//! Compiles each file of `kernels` to a module of one pack.

fn main() {
    offload_build::Build::new()
        .modules(["kernels/limit.cu", "kernels/scale.cu", "kernels/shift.cu"])
        .archs(["gfx11-generic", "compute_80", "cpu"])
        .compile("kernels");
}

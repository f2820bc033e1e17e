//! Compiles `kernels/linear.cu` for GPUs of both vendors and for the CPU, on which the tests run.

fn main() {
    let mut build = offload_build::Build::new();
    build.file("kernels/linear.cu").archs(["gfx90a", "gfx11-generic", "compute_80", "cpu"]);
    if cfg!(feature = "planted-bug") {
        build.define("PLANTED_BUG", None);
    }
    build.compile("linear");
}

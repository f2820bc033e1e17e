//! Names a pack with functions, in a package without a build script.
#![forbid(unsafe_code)]
mod kernels {
    offload_gpu::include_kernels!("saxpy");
}
fn main() {}

//! Names a pack, in a package without a build script.
#![forbid(unsafe_code)]
static PACK: offload_gpu::KernelPack =
    offload_gpu::include_offload!("saxpy");
fn main() {
    println!("{PACK:?}");
}

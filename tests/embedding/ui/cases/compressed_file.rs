//! One way to go wrong.
#![forbid(unsafe_code)]
static SAXPY: offload_gpu::KernelPack =
    offload_gpu::include_offload!(path = "files/saxpy.hipfb", compressed);
fn main() {
    println!("{SAXPY:?}");
}

//! The option `register` for a compressed bundle.
#![forbid(unsafe_code)]
static PACK: offload_gpu::KernelPack =
    offload_gpu::include_offload!(path = "files/compressed.hipfb", register);
fn main() {
    println!("{PACK:?}");
}

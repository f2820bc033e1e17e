//! One way to go wrong.
#![forbid(unsafe_code)]
static SAXPY: offload::KernelPack =
    offload::include_offload!(path = "files/saxpy.hipfb", compressed);
fn main() {
    println!("{SAXPY:?}");
}

//! One way to go wrong.
#![forbid(unsafe_code)]
static PACK: offload::KernelPack =
    offload::include_offload!(path = "files/saxpy.hsaco", section = ".init_array");
fn main() {
    println!("{PACK:?}");
}

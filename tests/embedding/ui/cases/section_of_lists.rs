//! One way to go wrong.
#![forbid(unsafe_code)]
static PACK: offload::KernelPack =
    offload::include_offload!(path = "files/saxpy.hsaco", section = "offload_packs_1");
fn main() {
    println!("{PACK:?}");
}

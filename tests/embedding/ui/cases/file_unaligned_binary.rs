//! One way to go wrong.
#![forbid(unsafe_code)]
static PACK: offload::KernelPack =
    offload::include_offload!(path = "files/unaligned.ob");
fn main() {
    println!("{PACK:?}");
}

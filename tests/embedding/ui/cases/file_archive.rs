//! One way to go wrong.
#![forbid(unsafe_code)]
static PACK: offload::KernelPack =
    offload::include_offload!(path = "files/library.a");
fn main() {
    println!("{PACK:?}");
}

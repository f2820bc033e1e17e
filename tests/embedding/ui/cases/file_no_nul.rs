//! One way to go wrong.
#![forbid(unsafe_code)]
static PACK: offload::KernelPack =
    offload::include_offload!(path = "files/no_nul.ob");
fn main() {
    println!("{PACK:?}");
}

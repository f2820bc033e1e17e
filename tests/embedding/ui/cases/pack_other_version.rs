//! One way to go wrong.
#![forbid(unsafe_code)]
static PACK: offload::KernelPack =
    offload::include_offload!("other_version");
fn main() {
    println!("{PACK:?}");
}

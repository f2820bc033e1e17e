//! One way to go wrong.
#![forbid(unsafe_code)]
static PACK: offload::KernelPack =
    offload::include_offload!("bad_target");
fn main() {
    println!("{PACK:?}");
}

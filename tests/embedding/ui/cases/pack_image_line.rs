//! One way to go wrong.
#![forbid(unsafe_code)]
static PACK: offload::KernelPack =
    offload::include_offload!("image_line");
fn main() {
    println!("{PACK:?}");
}

//! One way to go wrong.
#![forbid(unsafe_code)]
static PACK: offload::KernelPack =
    offload::include_offload!(path = "files/saxpy.ob", align = "8");
fn main() {
    println!("{PACK:?}");
}

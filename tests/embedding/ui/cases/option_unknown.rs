//! One way to go wrong.
#![forbid(unsafe_code)]
static PACK: offload::KernelPack =
    offload::include_offload!("saxpy", mmap);
fn main() {
    println!("{PACK:?}");
}

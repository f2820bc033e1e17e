//! One way to go wrong.
#![forbid(unsafe_code)]
static PACK: offload::KernelPack =
    offload::include_offload!(names::NAME);
fn main() {
    println!("{PACK:?}");
}

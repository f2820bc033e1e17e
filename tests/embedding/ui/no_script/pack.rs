//! One wrong use of the macro.
#![forbid(unsafe_code)]
static PACK: offload::KernelPack =
    offload::include_offload!("saxpy");
fn main() {
    println!("{PACK:?}");
}

//! One way to go wrong.
#![forbid(unsafe_code)]
static PACK: offload::KernelPack =
    offload::include_offload!("kernels/saxpy.cu");
fn main() {
    println!("{PACK:?}");
}

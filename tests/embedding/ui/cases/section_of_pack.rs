//! One way to go wrong.
#![forbid(unsafe_code)]
static PACK: offload::KernelPack =
    offload::include_offload!("saxpy", section = ".my_kernels");
fn main() {
    println!("{PACK:?}");
}

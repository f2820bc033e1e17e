//! One way to go wrong. This is what the crate `offload` of another version would pass on.
#![forbid(unsafe_code)]
static SAXPY: offload::KernelPack =
    offload::__expansion::include_offload!(@ 99 offload; "saxpy");
fn main() {
    println!("{SAXPY:?}");
}

//! One way to go wrong. This is what the crate `offload-gpu` of another version would pass on.
#![forbid(unsafe_code)]
static SAXPY: offload_gpu::KernelPack =
    offload_gpu::__expansion::include_offload!(@ 99 offload; "saxpy");
fn main() {
    println!("{SAXPY:?}");
}

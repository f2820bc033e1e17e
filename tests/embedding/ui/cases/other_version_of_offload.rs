//! One way to go wrong. A different version of `offload-gpu` would pass on these tokens.
#![forbid(unsafe_code)]
static SAXPY: offload_gpu::KernelPack =
    offload_gpu::__expansion::include_offload!(@ 99 offload; "saxpy");
fn main() {
    println!("{SAXPY:?}");
}

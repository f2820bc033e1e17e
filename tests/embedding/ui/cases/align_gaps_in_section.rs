//! One way to go wrong.
#![forbid(unsafe_code)]
static PACK: offload_gpu::KernelPack =
    offload_gpu::include_offload!(path = "files/saxpy.ob", section = ".llvm.offloading", align = 4096);
fn main() {
    println!("{PACK:?}");
}

//! One way to go wrong.
#![forbid(unsafe_code)]
static PACK: offload::KernelPack =
    offload::include_offload!(path = "files/saxpy.ob", section = ".llvm.offloading", align = 4096);
fn main() {
    println!("{PACK:?}");
}

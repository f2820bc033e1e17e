//! One way to go wrong.
static PACK: offload_gpu::KernelPack =
    offload_gpu::include_offload!(path = "files/unique.ob", unsafe(cpu));
fn main() {
    println!("{PACK:?}");
}

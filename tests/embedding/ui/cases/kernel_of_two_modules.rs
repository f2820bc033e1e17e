//! One way to go wrong.
#![forbid(unsafe_code)]
use offload_gpu::KernelPack;
use offload_gpu::Kernel;
static PACK: KernelPack = offload_gpu::include_offload!("modules");
const WRONG: Kernel = PACK.kernel("saxpy");
fn main() {
    println!("{WRONG:?}");
}

//! One way to go wrong.
#![forbid(unsafe_code)]
use offload_gpu::KernelPack;
use offload_gpu::Kernel;
static PACK: KernelPack = offload_gpu::include_offload!("saxpy");
const WRONG: Kernel = PACK.kernel("saxpi");
fn main() {
    println!("{WRONG:?}");
}

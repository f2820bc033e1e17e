//! One way to go wrong.
#![forbid(unsafe_code)]
use offload::KernelPack;
use offload::Kernel;
static PACK: KernelPack = offload::include_offload!("saxpy");
const WRONG: Kernel = PACK.kernel("saxpi");
fn main() {
    println!("{WRONG:?}");
}

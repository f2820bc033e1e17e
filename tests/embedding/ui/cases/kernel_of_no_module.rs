//! One way to go wrong.
#![forbid(unsafe_code)]
use offload::KernelPack;
use offload::Kernel;
static PACK: KernelPack = offload::include_offload!("modules");
const WRONG: Kernel = PACK.kernel("add");
fn main() {
    println!("{WRONG:?}");
}

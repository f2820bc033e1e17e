//! One way to go wrong.
#![forbid(unsafe_code)]
use offload_format::KernelPack;
use offload_format::embedded::Kernel;
static PACK: KernelPack = offload_embed_macro::include_offload!("saxpy");
const WRONG: Kernel = PACK.kernel("saxpi");
fn main() {
    println!("{WRONG:?}");
}

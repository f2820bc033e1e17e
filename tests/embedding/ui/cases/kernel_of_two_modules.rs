//! One way to go wrong.
#![forbid(unsafe_code)]
use offload_format::KernelPack;
use offload_format::embedded::Kernel;
static PACK: KernelPack = offload_embed_macro::include_offload!("modules");
const WRONG: Kernel = PACK.kernel("saxpy");
fn main() {
    println!("{WRONG:?}");
}

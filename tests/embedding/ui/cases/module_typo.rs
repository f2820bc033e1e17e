//! One way to go wrong.
#![forbid(unsafe_code)]
use offload_format::KernelPack;
use offload_format::embedded::Module;
static PACK: KernelPack = offload_embed_macro::include_offload!("modules");
const WRONG: Module = PACK.module("scael");
fn main() {
    println!("{WRONG:?}");
}

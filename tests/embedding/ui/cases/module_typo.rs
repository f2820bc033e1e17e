//! One way to go wrong.
#![forbid(unsafe_code)]
use offload::KernelPack;
use offload::Module;
static PACK: KernelPack = offload::include_offload!("modules");
const WRONG: Module = PACK.module("scael");
fn main() {
    println!("{WRONG:?}");
}

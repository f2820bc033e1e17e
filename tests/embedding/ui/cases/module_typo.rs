//! One way to go wrong.
#![forbid(unsafe_code)]
use offload_gpu::KernelPack;
use offload_gpu::Module;
static PACK: KernelPack = offload_gpu::include_offload!("modules");
const WRONG: Module = PACK.module("scael");
fn main() {
    println!("{WRONG:?}");
}

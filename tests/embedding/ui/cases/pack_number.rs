//! One way to go wrong.
#![forbid(unsafe_code)]
static PACK: offload_format::KernelPack =
    offload_embed_macro::include_offload!(5);
fn main() {
    println!("{PACK:?}");
}

//! One way to go wrong.
#![forbid(unsafe_code)]
static PACK: offload_format::KernelPack =
    offload_embed_macro::include_offload!("image_line");
fn main() {
    println!("{PACK:?}");
}

//! One way to go wrong.
#![forbid(unsafe_code)]
static PACK: offload_format::KernelPack =
    offload_embed_macro::include_offload!(path = "files/saxpy.hsaco", align = 4);
fn main() {
    println!("{PACK:?}");
}

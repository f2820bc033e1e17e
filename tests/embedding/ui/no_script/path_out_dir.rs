//! One wrong use of the macro.
#![forbid(unsafe_code)]
static PACK: offload::KernelPack =
    offload::include_offload!(path = "$OUT_DIR/saxpy.hsaco");
fn main() {
    println!("{PACK:?}");
}

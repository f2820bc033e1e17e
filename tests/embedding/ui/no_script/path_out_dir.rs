//! Names a path in `OUT_DIR`, in a package without a build script.
#![forbid(unsafe_code)]
static PACK: offload_gpu::KernelPack =
    offload_gpu::include_offload!(path = "$OUT_DIR/saxpy.hsaco");
fn main() {
    println!("{PACK:?}");
}

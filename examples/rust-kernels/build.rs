//! Packs the output of `kernels/build.sh`.

fn main() {
    offload_build::Build::new()
        .files(["images/saxpy.gfx90a.hsaco", "images/saxpy.compute_80.ptx"])
        .archs(["gfx90a", "compute_80"])
        .compile("saxpy");
}

//! Declares the kernels of a file, without the `files` feature.
mod kernels {
    offload_gpu::include_kernels!(path = "files/saxpy.hsaco", extern {
        fn saxpy(n: i32, a: f32, x: *const f32, y: *mut f32);
    });
}
fn main() {}

//! An `f64` for a `float`.

mod kernels {
    offload_gpu::include_kernels!("calls", extern {
        fn saxpy(n: i32, a: f64, x: *const f32, y: *mut f32);
    });
}

fn main() {}

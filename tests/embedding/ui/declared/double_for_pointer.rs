//! An `f64` for a pointer.

mod kernels {
    offload_gpu::include_kernels!("calls", extern {
        fn saxpy(n: i32, a: f32, x: f64, y: *mut f32);
    });
}

fn main() {}

//! An `int` and a `float` in the wrong order.

mod kernels {
    offload_gpu::include_kernels!("calls", extern {
        fn saxpy(a: f32, n: i32, x: *const f32, y: *mut f32);
    });
}

fn main() {}

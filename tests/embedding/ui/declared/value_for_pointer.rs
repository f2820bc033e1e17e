//! A value for a pointer.

mod kernels {
    offload_gpu::include_kernels!("calls", extern {
        fn saxpy(n: i32, a: f32, x: *const f32, y: f32);
    });
}

fn main() {}

//! A parameter without a type.

mod kernels {
    offload_gpu::include_kernels!("calls", extern {
        fn saxpy(n: i32, a, x: *const f32, y: *mut f32);
    });
}

fn main() {}

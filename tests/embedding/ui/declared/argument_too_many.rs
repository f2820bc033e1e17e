//! One parameter too many.

mod kernels {
    offload_gpu::include_kernels!("calls", extern {
        fn saxpy(n: i32, a: f32, x: *const f32, y: *mut f32, stream: *mut u8);
    });
}

fn main() {}

//! A kernel that returns a value.

mod kernels {
    offload_gpu::include_kernels!("calls", extern {
        fn saxpy(n: i32, a: f32, x: *const f32, y: *mut f32) -> i32;
    });
}

fn main() {}

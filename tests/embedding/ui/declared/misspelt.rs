//! The kernel does not exist.

mod kernels {
    offload_gpu::include_kernels!("calls", extern {
        fn sapxy(n: i32, a: f32, x: *const f32, y: *mut f32);
    });
}

fn main() {}

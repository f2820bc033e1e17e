//! The module does not exist.

mod kernels {
    offload_gpu::include_kernels!("calls", extern {
        mod call { fn saxpy(n: i32, a: f32, x: *const f32, y: *mut f32); }
    });
}

fn main() {}

//! A `usize` for an `int`.

mod kernels {
    offload_gpu::include_kernels!("calls", extern {
        fn saxpy(n: usize, a: f32, x: *const f32, y: *mut f32);
    });
}

fn main() {}

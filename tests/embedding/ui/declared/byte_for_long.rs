//! A `u8` for a `long`.

mod kernels {
    offload_gpu::include_kernels!("calls", extern {
        fn fill(value: u8, scale: f32, offset: i32, range: [i64; 2], out: *mut f32);
    });
}

fn main() {}

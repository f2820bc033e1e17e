//! A struct that Rust lays out in its own order.

#[derive(Clone, Copy, offload_gpu::Parameter)]
pub struct Range {
    pub first: i32,
    pub count: i64,
}

mod kernels {
    use super::Range;

    offload_gpu::include_kernels!("calls", extern {
        fn fill(value: i64, scale: f32, offset: i32, range: Range, out: *mut f32);
    });
}

fn main() {}

//! A struct with another padding.

#[derive(Clone, Copy, offload_gpu::Parameter)]
#[repr(C, packed)]
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

//! A struct with a field that cannot be passed to a kernel.

#[derive(Clone, Copy, offload_gpu::Parameter)]
#[repr(C)]
pub struct Range {
    pub name: &'static str,
}

mod kernels {
    use super::Range;

    offload_gpu::include_kernels!("calls", extern {
        fn fill(value: i64, scale: f32, offset: i32, range: Range, out: *mut f32);
    });
}

fn main() {}

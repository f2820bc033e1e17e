//! A struct of the program with another padding.

mod kernels {
    offload_gpu::include_kernels!("calls");
}

#[repr(C, packed)]
pub struct Range {
    pub first: i32,
    pub count: i64,
}

pub fn call(y: *mut f32) {
    let _ = kernels::fill(1, 1.0, 0, Range { first: 0, count: 1 }, y);
}

fn main() {}

//! An `int` and a `float` are swapped.

mod kernels {
    offload_gpu::include_kernels!("calls");
}

pub fn call(scale: f32, offset: i32, y: *mut f32) {
    let _ = kernels::fill(1, offset, scale, kernels::Range { first: 0, count: 1 }, y);
}

fn main() {}

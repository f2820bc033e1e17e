//! A `u8` for a `long`.

mod kernels {
    offload_gpu::include_kernels!("calls");
}

pub fn call(value: u8, y: *mut f32) {
    let _ = kernels::fill(value, 1.0, 0, kernels::Range { first: 0, count: 1 }, y);
}

fn main() {}

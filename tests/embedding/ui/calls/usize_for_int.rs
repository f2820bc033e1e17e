//! A `usize` for an `int`.

mod kernels {
    offload_gpu::include_kernels!("calls");
}

pub fn call(n: usize, x: *const f32, y: *mut f32) {
    let _ = kernels::saxpy(n, 2.0, x, y);
}

fn main() {}

//! An `f64` for a `float`.

mod kernels {
    offload_gpu::include_kernels!("calls");
}

pub fn call(a: f64, x: *const f32, y: *mut f32) {
    let _ = kernels::saxpy(1000, a, x, y);
}

fn main() {}

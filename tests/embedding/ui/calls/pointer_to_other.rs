//! A pointer to another type.

mod kernels {
    offload_gpu::include_kernels!("calls");
}

pub fn call(x: *const f64, y: *mut f32) {
    let _ = kernels::saxpy(1000, 2.0, x, y);
}

fn main() {}

//! The kernel does not exist.

mod kernels {
    offload_gpu::include_kernels!("calls");
}

pub fn call(x: *const f32, y: *mut f32) {
    let _ = kernels::sapxy(1000, 2.0, x, y);
}

fn main() {}

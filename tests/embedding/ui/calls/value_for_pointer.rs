//! A value for a pointer.

mod kernels {
    offload_gpu::include_kernels!("calls");
}

pub fn call(y: *mut f32) {
    let _ = kernels::saxpy(1000, 2.0, 1.0f32, y);
}

fn main() {}

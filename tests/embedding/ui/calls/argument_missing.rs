//! An argument is forgotten.

mod kernels {
    offload_gpu::include_kernels!("calls");
}

pub fn call(x: *const f32) {
    let _ = kernels::saxpy(1000, 2.0, x);
}

fn main() {}

//! A read-only pointer is passed for a pointer through which the kernel writes.

mod kernels {
    offload_gpu::include_kernels!("calls");
}

pub fn call(x: *const f32) {
    let _ = kernels::saxpy(1000, 2.0, x, x);
}

fn main() {}

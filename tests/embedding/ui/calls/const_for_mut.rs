//! A pointer that may not be written through, for one that is written through.

mod kernels {
    offload::include_kernels!("calls");
}

pub fn call(x: *const f32) {
    let _ = kernels::saxpy(1000, 2.0, x, x);
}

fn main() {}

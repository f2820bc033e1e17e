//! A call of a declared kernel with an argument of a different type.

mod kernels {
    offload_gpu::include_kernels!("calls", extern {
        fn saxpy(n: i32, a: f32, x: *const f32, y: *mut f32);
    });
}

pub fn call(a: f64, x: *const f32, y: *mut f32) {
    let _ = kernels::saxpy(1000, a, x, y);
}

fn main() {}

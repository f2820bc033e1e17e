//! A parameter is missing.

mod kernels {
    offload::include_kernels!("calls", extern {
        fn saxpy(n: i32, a: f32, x: *const f32);
    });
}

fn main() {}

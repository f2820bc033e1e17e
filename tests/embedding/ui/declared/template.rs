//! An instance of a template.

mod kernels {
    offload::include_kernels!("calls", extern {
        fn saxpy<f32>(n: i32);
    });
}

fn main() {}

//! An instance of a template.

mod kernels {
    offload_gpu::include_kernels!("calls", extern {
        fn saxpy<f32>(n: i32);
    });
}

fn main() {}

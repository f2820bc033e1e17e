//! A module in a module.

mod kernels {
    offload_gpu::include_kernels!("calls", extern {
        mod calls { mod inner { fn saxpy(n: i32, a: f32, x: *const f32, y: *mut f32); } }
    });
}

fn main() {}

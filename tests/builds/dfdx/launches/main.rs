//! dfdx's launches on the CPU, with the arguments that dfdx passes. Each result is compared with
//! plain Rust. The same source is also compiled with cudarc's buffers instead of the CPU's.

mod ops;

mod on_cpu {
    pub mod cuda;
    pub mod elementwise;
    pub mod images;
    mod memory;
    pub mod optimizers;
    pub mod tensors;
}

#[allow(dead_code)]
mod with_cudarc {
    #[path = "../on_cpu/cuda.rs"]
    mod cuda;
    #[path = "../on_cpu/elementwise.rs"]
    mod elementwise;
    #[path = "../on_cpu/images.rs"]
    mod images;
    mod memory;
    #[path = "../on_cpu/optimizers.rs"]
    mod optimizers;
    #[path = "../on_cpu/tensors.rs"]
    mod tensors;
}

use on_cpu::{cuda, elementwise, images, optimizers, tensors};

mod kernels {
    offload_gpu::include_kernels!(
        "dfdx",
        use crate::ops::AttentionReshapeOp,
        use crate::ops::ClampKernelOp<f32> as ClampKernelOp_float,
        use crate::ops::ClampKernelOp<f64> as ClampKernelOp_double,
        use crate::ops::ClampKernelOp<half::f16> as ClampKernelOp___half,
        use crate::ops::Conv2DOp,
        use crate::ops::CudaAdamConfig as AdamConfig,
        use crate::ops::CudaRMSpropConfig as RMSpropConfig,
        use crate::ops::CudaSgdConfig as SgdConfig,
        use crate::ops::Pool2DOp as Pool2dOp,
        use crate::ops::RollOp,
        use crate::ops::ScalarAddKernelOp<f32> as ScalarAddKernelOp_float,
        use crate::ops::ScalarAddKernelOp<f64> as ScalarAddKernelOp_double,
        use crate::ops::ScalarAddKernelOp<half::f16> as ScalarAddKernelOp___half,
        use crate::ops::Upscale2DOp as Upscale2dOp,
    );
}

/// Launches a kernel with these arguments, and counts the launch.
macro_rules! launch {
    ($cuda:expr, $cfg:expr, $module:ident::$kernel:ident $arguments:tt) => {{
        let call = crate::kernels::$module::$kernel $arguments;
        $cuda.dev.count(stringify!($kernel));
        // SAFETY: the buffers have the lengths that the arguments state, and outlive the launch.
        unsafe { call.launch_as($cuda.dev.device(), &$cfg) }.unwrap();
    }};
}

use launch;

fn main() {
    let cuda = cuda::Cuda::new();
    elementwise::run(&cuda);
    images::run(&cuda);
    optimizers::run(&cuda);
    tensors::run(&cuda);
    let launches = cuda.dev.launches.lock().unwrap();
    println!("{} kernels, {} launches", launches.len(), launches.values().sum::<usize>());
}

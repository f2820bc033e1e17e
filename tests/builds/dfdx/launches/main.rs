//! Launches of dfdx with the arguments that dfdx passes, on the CPU. Each is compared with plain
//! Rust.

mod cuda;
mod elementwise;
mod images;
mod optimizers;
mod tensors;

mod kernels {
    offload_gpu::include_kernels!("dfdx");
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

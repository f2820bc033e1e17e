//! Computes y = a * x + y on the first NVIDIA GPU, with a kernel written in Rust.

mod modules;

use std::error::Error;
use std::process::ExitCode;

use cudarc::driver::result::launch_kernel;
use cudarc::driver::{DevicePtr, DevicePtrMut};
use modules::Modules;

/// The pack, and its kernel as it is in the crate of the kernels: the images tell of sizes, and are compared with it.
mod kernels {
    offload::include_kernels!(
        "saxpy",
        extern "C" {
            /// y = a * x + y
            fn saxpy(n: u32, a: f32, x: *const f32, y: *mut f32);
        }
    );
}

/// Threads in a block, as the kernel has it.
const BLOCK: u32 = 256;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn Error>> {
    let gpu = modules::gpu(0)?;
    let modules = Modules::new(&kernels::PACK);
    let loaded = modules.on(&gpu)?;
    let function = loaded.module.load_function("saxpy")?;

    // Small whole numbers: sums and products are exact.
    const LEN: u16 = 10_000;
    let a = 3.0_f32;
    let (x, y): (Vec<f32>, Vec<f32>) = (0..LEN).map(|i| (f32::from(i), f32::from(i % 7))).unzip();
    let stream = gpu.default_stream();
    let (x_there, mut y_there) = (stream.clone_htod(&x)?, stream.clone_htod(&y)?);
    let n = u32::from(LEN);
    {
        // What stands beside an address tells cudarc, when it is dropped, that the memory was used until then.
        let ((x, _x), (y, _y)) = (x_there.device_ptr(&stream), y_there.device_ptr_mut(&stream));
        let call = kernels::saxpy(n, a, x as *const f32, y as *mut f32);
        let (grid, block) = ((n.div_ceil(BLOCK), 1, 1), (BLOCK, 1, 1));
        let (function, stream) = (function.cu_function(), stream.cu_stream());
        // SAFETY: it touches the first `n` elements of `x` and `y`, which is how many each has.
        unsafe { launch_kernel(function, grid, block, 0, stream, &mut call.pointers()) }?;
    }
    let found = stream.clone_dtoh(&y_there)?;

    if let Some(i) = (0..x.len()).find(|&i| found[i] != a * x[i] + y[i]) {
        return Err(format!("wrong result: element {i} is {}, not {}", found[i], a * x[i] + y[i]).into());
    }
    println!("{}: the {} computed {LEN} elements, all right.", gpu.name()?, loaded.image.kind());
    Ok(())
}

//! Computes y = a * x + y on the first NVIDIA GPU, with a kernel written in Rust.

mod modules;

use std::error::Error;
use std::process::ExitCode;

use cudarc::driver::{LaunchConfig, PushKernelArg};
use modules::Modules;
use offload::{KernelPack, include_offload};

static SAXPY: KernelPack = include_offload!("saxpy");

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
    let modules = Modules::new(&SAXPY);
    let loaded = modules.on(&gpu)?;
    let kernel = loaded.module.load_function("saxpy")?;

    // Small whole numbers: sums and products are exact.
    const LEN: u16 = 10_000;
    let a = 3.0_f32;
    let (x, y): (Vec<f32>, Vec<f32>) = (0..LEN).map(|i| (f32::from(i), f32::from(i % 7))).unzip();
    let stream = gpu.default_stream();
    let (x_there, mut y_there) = (stream.clone_htod(&x)?, stream.clone_htod(&y)?);
    let n = u32::from(LEN);
    let shape = LaunchConfig { grid_dim: (n.div_ceil(BLOCK), 1, 1), block_dim: (BLOCK, 1, 1), shared_mem_bytes: 0 };
    // SAFETY: the arguments have the types of the kernel's parameters. It touches the first `n` elements of `x` and `y`,
    // which is how many each has.
    unsafe { stream.launch_builder(&kernel).arg(&n).arg(&a).arg(&x_there).arg(&mut y_there).launch(shape) }?;
    let found = stream.clone_dtoh(&y_there)?;

    if let Some(i) = (0..x.len()).find(|&i| found[i] != a * x[i] + y[i]) {
        return Err(format!("wrong result: element {i} is {}, not {}", found[i], a * x[i] + y[i]).into());
    }
    println!("{}: the {} computed {LEN} elements, all right.", gpu.name()?, loaded.image.kind());
    Ok(())
}

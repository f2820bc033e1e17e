//! Computes y = a * x + y on the first GPU, with a kernel written in Rust.

use std::error::Error;
use std::process::ExitCode;

use offload_gpu::run::Device;

/// The embedded pack, and a function for each kernel, with the parameters of the kernels' crate.
mod kernels {
    offload_gpu::include_kernels!("kernels");
}

/// The number of threads in a block, the same as `BLOCK` in the kernels' crate.
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
    let gpu = Device::best_for(&kernels::PACK)?;

    // Small whole numbers: sums and products are exact.
    const LEN: u16 = 10_000;
    let a = 3.0_f32;
    let (x, y): (Vec<f32>, Vec<f32>) = (0..LEN).map(|i| (f32::from(i), f32::from(i % 7))).unzip();
    let (x_there, mut y_there) = (gpu.buffer(&x)?, gpu.buffer(&y)?);
    let n = u32::from(LEN);
    // SAFETY: the kernel touches the first `n` elements of `x` and `y`, and each has `n` elements.
    unsafe { kernels::saxpy(n, a, &x_there, &mut y_there).launch(&gpu, n.div_ceil(BLOCK), BLOCK)? };
    let found = y_there.to_vec()?;

    if let Some(i) = (0..x.len()).find(|&i| found[i] != a * x[i] + y[i]) {
        return Err(
            format!("wrong result: element {i} is {}, not {}", found[i], a * x[i] + y[i]).into()
        );
    }
    println!(
        "{}: the {} computed {LEN} elements, all right.",
        gpu.product(),
        kernels::PACK.on(&gpu)?.image().kind()
    );
    Ok(())
}

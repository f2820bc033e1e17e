//! Runs kernels written in Rust on a GPU, or on the CPU if no image fits a GPU, and checks the
//! results. The arguments name the kernels. Without arguments, `saxpy` runs.

use std::error::Error;
use std::process::ExitCode;

use offload_gpu::run::{Device, Launch, Result};

/// The embedded pack, and a function for each kernel, with the parameters that the kernel crate
/// declares.
mod kernels {
    offload_gpu::include_kernels!("kernels");
}

/// The number of threads in a block, for all kernels except `multiply`.
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

fn run() -> std::result::Result<(), Box<dyn Error>> {
    let device = Device::best_for(&kernels::PACK)?;
    let mut names: Vec<String> = std::env::args().skip(1).collect();
    if names.is_empty() {
        names.push("saxpy".to_owned());
    }
    for name in names {
        let computed = match name.as_str() {
            "saxpy" => saxpy(&device)?,
            "evaluate" => evaluate(&device)?,
            "sum" => sum(&device)?,
            "multiply" => multiply(&device)?,
            _ => return Err(format!("no kernel has the name {name}").into()),
        };
        let elements = computed.len();
        if let Some(i) = computed.iter().position(|(found, right)| found != right) {
            let (found, right) = computed[i];
            return Err(format!("{name}: element {i} is {found}, not {right}").into());
        }
        println!(
            "{}: the {} computed {elements} elements, all right.",
            device.product(),
            kernels::PACK.on(&device)?.image().kind()
        );
    }
    Ok(())
}

/// Pairs of a computed element and its expected value. All numbers are small integers, so sums and
/// products are exact.
type Computed = Vec<(f32, f32)>;

fn saxpy(device: &Device) -> Result<Computed> {
    const LEN: u16 = 10_000;
    let a = 3.0_f32;
    let (x, y): (Vec<f32>, Vec<f32>) = (0..LEN).map(|i| (f32::from(i), f32::from(i % 7))).unzip();
    let (x_there, mut y_there) = (device.buffer(&x)?, device.buffer(&y)?);
    let blocks = u32::from(LEN).div_ceil(BLOCK);
    // SAFETY: `x` and `y` have `LEN` elements.
    unsafe {
        kernels::saxpy(usize::from(LEN), a, &x_there, &mut y_there)
            .launch(device, blocks, BLOCK)?;
    }
    let right = x.iter().zip(y).map(|(x, y)| a * x + y);
    Ok(y_there.to_vec()?.into_iter().zip(right).collect())
}

fn evaluate(device: &Device) -> Result<Computed> {
    const LEN: u16 = 1_000;
    let x: Vec<f32> = (0..LEN).map(f32::from).collect();
    let line = device.buffer(&[kernels::Line { slope: 2.0, offset: 5.0 }])?;
    let (x_there, mut y_there) = (device.buffer(&x)?, device.buffer(&x)?);
    let blocks = u32::from(LEN).div_ceil(BLOCK);
    // SAFETY: `line` contains one `Line`, and `x` and `y` have `LEN` elements.
    unsafe {
        kernels::evaluate(&line, usize::from(LEN), &x_there, &mut y_there)
            .launch(device, blocks, BLOCK)?;
    }
    let right = x.iter().map(|x| 2.0 * x + 5.0);
    Ok(y_there.to_vec()?.into_iter().zip(right).collect())
}

fn sum(device: &Device) -> Result<Computed> {
    const LEN: u16 = 5_000;
    let x: Vec<u32> = (0..u32::from(LEN)).map(|i| i % 100).collect();
    let (x_there, mut total) = (device.buffer(&x)?, device.buffer(&[0_u32])?);
    // 4 bytes for each warp, which has at least 32 threads.
    let launch = Launch::new(3, BLOCK).shared_memory(BLOCK as usize / 32 * 4);
    // SAFETY: `x` has `LEN` elements, and `total` has one.
    unsafe { kernels::sum(usize::from(LEN), &x_there, &mut total).launch_as(device, &launch)? };
    let right: u32 = x.iter().sum();
    Ok(total.to_vec()?.into_iter().map(|total| (total as f32, right as f32)).collect())
}

fn multiply(device: &Device) -> Result<Computed> {
    /// The number of rows and columns of a matrix, and of a tile.
    const SIZE: u16 = 64;
    const TILE: u32 = 16;
    let n = usize::from(SIZE);
    let numbers = |modulus: u16| (0..SIZE * SIZE).map(|i| f32::from(i % modulus)).collect();
    let (a, b): (Vec<f32>, Vec<f32>) = (numbers(7), numbers(5));
    let (a_there, b_there, mut c_there) =
        (device.buffer(&a)?, device.buffer(&b)?, device.buffer(&a)?);
    let tiles = u32::from(SIZE) / TILE;
    let launch = Launch::new((tiles, tiles), (TILE, TILE)).shared_memory(2048);
    // SAFETY: each matrix has `n` x `n` elements.
    unsafe { kernels::multiply(n, &a_there, &b_there, &mut c_there).launch_as(device, &launch)? };
    let right = |i: usize| (0..n).map(|k| a[i / n * n + k] * b[k * n + i % n]).sum();
    Ok(c_there.to_vec()?.into_iter().enumerate().map(|(i, found)| (found, right(i))).collect())
}

//! Runs the kernel on a device of this machine, with blocks of many sizes, and compares each sum
//! with that of a plain loop. If an argument names a device, only prints which image that device
//! would get.

use std::env;
use std::error::Error;
use std::process::ExitCode;

use offload_gpu::DeviceInfo;
use offload_gpu::run::{Buffer, Device, RunError};

/// The pack, and a function for each kernel of `kernels/block_sum.cu`.
mod kernels {
    offload_gpu::include_kernels!("block_sum");
}

fn main() -> ExitCode {
    let result = match env::args().nth(1) {
        Some(name) => explain(&name),
        None => run(),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Prints which image a device gets. The device need not be in this machine.
fn explain(name: &str) -> Result<(), Box<dyn Error>> {
    let choice = kernels::PACK.select(&DeviceInfo::parse(name)?)?;
    println!("{name} gets the {} {}: {}", choice.target(), choice.kind(), choice.fit());
    Ok(())
}

fn run() -> Result<(), Box<dyn Error>> {
    let device = Device::best_for(&kernels::PACK)?;
    // The elements are small integers, so their sums are exact in any order.
    let x: Vec<f32> = (0..1000_u16).map(f32::from).cycle().take(10_001).collect();
    let there = device.buffer(&x)?;
    let sizes = [1, 2, 3, 32, 64, 100, 256, 1000, 1024];
    for block in sizes {
        let sums = block_sums(&device, &there, block)?;
        let expected: Vec<f32> = x.chunks(block).map(|chunk| chunk.iter().sum()).collect();
        if sums != expected {
            return Err(format!("wrong sums with blocks of {block} threads").into());
        }
    }
    let image = kernels::PACK.on(&device)?.image();
    println!(
        "The {} {} computed the sums of blocks of {sizes:?} elements, all right.",
        image.target(),
        image.kind()
    );
    Ok(())
}

/// Splits `x` into groups of `block` consecutive elements. Returns the sum of each group, computed
/// on the device.
fn block_sums(device: &Device, x: &Buffer<f32>, block: usize) -> Result<Vec<f32>, RunError> {
    let mut sums = device.buffer(&vec![f32::NAN; x.len().div_ceil(block)])?;
    let [n, grid, threads] =
        [x.len(), sums.len(), block].map(|count| u32::try_from(count).expect("they are few"));
    // SAFETY: the kernel reads the first `n` elements of `x`, which has `n` elements. It writes one
    // element of `sums` for each block of the grid.
    unsafe { kernels::block_sum(n.cast_signed(), x, &mut sums).launch(device, grid, threads)? };
    sums.to_vec()
}

//! Runs the image for the CPU, with blocks of many sizes, and compares each sum with that of a plain loop. With the name
//! of a device: which image that would get.

mod cpu;

use std::env;
use std::process::ExitCode;

use cpu::{CpuModule, Result};
use offload::{DeviceInfo, KernelPack, include_offload};

static BLOCK_SUM: KernelPack = include_offload!("block_sum");

/// The kernel, as `kernels/block_sum.cu` declares it.
type BlockSum = unsafe extern "C" fn(n: i32, x: *const f32, sums: *mut f32);

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

/// Says which image a device gets. The modules.rs of cuda-vector-add and hip-vector-add load it.
fn explain(name: &str) -> Result<()> {
    let choice = BLOCK_SUM.select(&DeviceInfo::parse(name)?)?;
    println!("{name} gets the {} {}: {}", choice.target(), choice.kind(), choice.fit());
    Ok(())
}

fn run() -> Result<()> {
    let image = BLOCK_SUM.select(&DeviceInfo::cpu())?.into_image();
    let module = CpuModule::load(image)?;
    // Small whole numbers: their sums are exact in any order.
    let x: Vec<f32> = (0..1000_u16).map(f32::from).cycle().take(10_001).collect();
    let sizes = [1, 2, 3, 32, 64, 100, 256, 1000, 1024];
    for block in sizes {
        let sums = block_sums(&module, &x, block)?;
        let expected: Vec<f32> = x.chunks(block).map(|chunk| chunk.iter().sum()).collect();
        if sums != expected {
            return Err(format!("wrong sums with blocks of {block} threads").into());
        }
    }
    println!("The {} {} computed the sums of blocks of {sizes:?} elements, all right.", image.target(), image.kind());
    Ok(())
}

/// The sum of each `block` elements of `x`.
fn block_sums(module: &CpuModule, x: &[f32], block: usize) -> Result<Vec<f32>> {
    // SAFETY: the kernel has this type in its source.
    let kernel = unsafe { module.kernel::<BlockSum>("block_sum")? };
    let mut sums = vec![f32::NAN; x.len().div_ceil(block)];
    let (n, grid) = (i32::try_from(x.len())?, u32::try_from(sums.len())?);
    let (input, output) = (x.as_ptr(), sums.as_mut_ptr());
    module.launch([grid, 1, 1], [u32::try_from(block)?, 1, 1], || {
        // SAFETY: it reads the first `n` elements of `x`, which is how many it has, and writes one of `sums` for each block
        // of the grid. Nothing else refers to `sums` meanwhile.
        unsafe { kernel(n, input, output) }
    })?;
    Ok(sums)
}

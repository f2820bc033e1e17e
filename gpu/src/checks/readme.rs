//! Runs the kernel of README's first screen with README's numbers, and with more elements.

use crate::report::{Result, Run, compare};
use offload_gpu::run::Device;

pub mod kernels {
    offload_gpu::include_kernels!("affine");
}

pub fn run(run: &mut Run) -> Result<String> {
    let (device, n) = (run.device.clone(), 1000);
    let (x, mut y) = (device.buffer(&[1.0_f32; 1000])?, device.buffer(&[2.0_f32; 1000])?);
    // SAFETY: the kernel accesses the first 1000 elements of x and y, and both have 1000.
    unsafe { kernels::saxpy(n, 3.0, &x, &mut y).launch(&device, 4, 256)? };
    compare("README's y", &y.to_vec()?, &[5.0; 1000])?;

    // Not a multiple of the block size, so the last block has threads without an element.
    let count = (1 << 20) + 77;
    saxpy(&device, count)?;
    let image = kernels::PACK.on(&device)?.image();
    run.figure("image", format!("{} {}", image.target(), image.kind()));
    Ok(format!("the {} {} computed 1000 and {count} elements", image.target(), image.kind()))
}

/// Launches the kernel with values for which its arithmetic is exact, and compares each result.
pub fn saxpy(device: &Device, count: usize) -> Result {
    let numbers = |step: usize| -> Vec<f32> {
        (0..count).map(|i| ((i * step) % 4099) as f32 / 4.0).collect()
    };
    let (x, y) = (numbers(7), numbers(13));
    let (x_there, mut y_there) = (device.buffer(&x)?, device.buffer(&y)?);
    let (n, blocks) = (count as i32, count.div_ceil(256) as u32);
    // SAFETY: the kernel accesses the first `count` elements, and both buffers have as many.
    unsafe { kernels::saxpy(n, 3.0, &x_there, &mut y_there).launch(device, blocks, 256)? };
    let expected: Vec<f32> = x.iter().zip(&y).map(|(x, y)| 3.0 * x + y).collect();
    compare("y of saxpy", &y_there.to_vec()?, &expected)
}

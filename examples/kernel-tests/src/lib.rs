//! Computes sums and matrix products on a GPU or the CPU.

use offload_gpu::run::{Device, Launch, RunError};

mod kernels {
    offload_gpu::include_kernels!("linear");
}

/// Returns the first device of this machine that an image fits.
///
/// # Errors
/// Returns an error if no image fits any device of this machine.
pub fn device() -> Result<Device, RunError> {
    Device::best_for(&kernels::PACK)
}

/// Returns the sum of all elements of `x`.
///
/// # Errors
/// Returns an error if the device reports one.
///
/// # Panics
/// Panics if there are 2^31 elements or more.
pub fn sum(device: &Device, x: &[f32]) -> Result<f32, RunError> {
    const BLOCK: u32 = 256;
    let n = i32::try_from(x.len()).expect("a kernel counts in i32");
    let blocks = n.cast_unsigned().div_ceil(BLOCK);
    if blocks == 0 {
        return Ok(0.0);
    }
    let x = device.buffer(x)?;
    let mut sums = device.buffer(&vec![0.0_f32; blocks as usize])?;
    // SAFETY: the kernel reads the n elements that x has, and writes one sum for each block.
    unsafe { kernels::block_sum(n, &x, &mut sums).launch(device, blocks, BLOCK)? };
    Ok(sums.to_vec()?.iter().sum())
}

/// Returns the product of two matrices of `n` times `n` elements, stored row by row.
///
/// # Errors
/// Returns an error if the device reports one.
///
/// # Panics
/// Panics if `a` or `b` has a different size.
pub fn multiply(device: &Device, n: usize, a: &[f32], b: &[f32]) -> Result<Vec<f32>, RunError> {
    const TILE: u32 = 16;
    assert_eq!((a.len(), b.len()), (n * n, n * n));
    if n == 0 {
        return Ok(Vec::new());
    }
    let size = i32::try_from(n).expect("a kernel counts in i32");
    let blocks = size.cast_unsigned().div_ceil(TILE);
    let (a, b) = (device.buffer(a)?, device.buffer(b)?);
    let mut c = device.buffer(&vec![0.0_f32; n * n])?;
    let launch = Launch::new((blocks, blocks), (TILE, TILE));
    // SAFETY: each matrix has n * n elements, and the kernel accesses no others.
    unsafe { kernels::multiply(size, &a, &b, &mut c).launch_as(device, &launch)? };
    c.to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn on_cpu() -> Device {
        Device::cpu()
    }

    #[test]
    fn the_sum_of_a_few() {
        assert_eq!(sum(&on_cpu(), &[1.0, 2.0, 3.5]).unwrap(), 6.5);
        assert_eq!(sum(&on_cpu(), &[]).unwrap(), 0.0);
    }

    #[test]
    fn blocks_that_are_not_full() {
        for n in [1, 255, 256, 257, 1000] {
            let x = vec![1.0; n];
            assert_eq!(sum(&on_cpu(), &x).unwrap(), n as f32);
        }
    }

    /// Returns small whole numbers from a linear congruential generator. Their sums and products
    /// are exact in any order.
    fn numbers(seed: u32, count: usize) -> Vec<f32> {
        let mut state = seed;
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            f32::from((state >> 28) as u8) - 8.0
        };
        (0..count).map(|_| next()).collect()
    }

    /// Compares the kernel's products of random matrices with the products that three nested loops
    /// compute.
    #[test]
    fn products_are_those_of_three_loops() {
        for seed in 0..5 {
            let n = 1 + 11 * seed as usize;
            let (a, b) = (numbers(seed, n * n), numbers(seed + 100, n * n));
            let of_loops: Vec<f32> = (0..n * n)
                .map(|at| (0..n).map(|k| a[at / n * n + k] * b[k * n + at % n]).sum())
                .collect();
            let product = multiply(&on_cpu(), n, &a, &b).unwrap();
            let wrong = (0..n * n).find(|&at| product[at] != of_loops[at]);
            assert_eq!(wrong, None, "the first wrong element of {n} x {n}");
        }
    }
}

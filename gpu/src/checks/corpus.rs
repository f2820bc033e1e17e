//! The kernels of tests/builds/kernel_header/kernels.cu, with blocks of many sizes. `cpu.rs` beside
//! them runs the same kernels without the run time, and shares the expected values.

use super::{Outcome, failed, same};
use crate::kernels::checks::{PACK, corpus};
use expected::{Cells, numbers};
use offload_gpu::run::{Device, Launch};

#[path = "../../../tests/builds/kernel_header/expected.rs"]
mod expected;

pub fn run(device: &Device) -> Result<Outcome, String> {
    let warp = warp_size(device)?;
    let mut sizes = 0;
    let of_one_row = (1..=1024).filter(|size| *size <= 130 || (size + 1) % 32 <= 2);
    let of_shapes = [[8, 4, 4], [1, 32, 2], [3, 5, 7], [1, 1, 64], [2, 33, 1]];
    for shape in of_one_row.map(|size| [size, 1, 1]).chain(of_shapes) {
        sums(device, shape)?;
        reversal(device, shape)?;
        votes(device, shape)?;
        lanes(device, shape, warp)?;
        let size = shape.iter().product::<u32>() as usize;
        for n in [1, size / 2 + 1, size] {
            scan(device, shape, n)?;
        }
        sizes += 1;
    }
    transpose(device)?;
    atomics(device)?;
    Ok(Outcome::ok([("shapes of blocks", sizes), ("lanes of a warp", warp)]))
}

/// Returns the number of lanes of a warp: 64 on AMD's GPUs of gfx9, 32 on all others.
fn warp_size(device: &Device) -> Result<usize, String> {
    let loaded = PACK.module("corpus").on(device).map_err(failed)?;
    Ok(if loaded.image().target().starts_with("gfx9") { 64 } else { 32 })
}

fn sums(device: &Device, shape: [u32; 3]) -> Result<(), String> {
    const BLOCKS: usize = 3;
    let size = shape.iter().product::<u32>() as usize;
    let values: Vec<f32> = numbers(BLOCKS * size).iter().map(|x| *x as f32).collect();
    let x = device.buffer(&values).map_err(failed)?;
    let mut found = device.zeros::<f32>(BLOCKS).map_err(failed)?;
    // SAFETY: the kernel reads one element for each thread, and writes one for each block.
    unsafe { corpus::tree_sum(&x, &mut found).launch(device, BLOCKS as u32, shape) }
        .map_err(failed)?;
    let expected = expected::sums(&values, size);
    same(&format!("tree_sum {shape:?}"), &found.to_vec().map_err(failed)?, &expected)
}

fn reversal(device: &Device, shape: [u32; 3]) -> Result<(), String> {
    let size = shape.iter().product::<u32>() as usize;
    let values: Vec<f64> = (0..2 * size).map(|x| x as f64).collect();
    let mut x = device.buffer(&values).map_err(failed)?;
    let launch = Launch::new(2, shape).shared_memory(8 * size);
    // SAFETY: the buffer has one element for each thread of two blocks.
    unsafe { corpus::reverse(&mut x).launch_as(device, &launch) }.map_err(failed)?;
    let expected = expected::reversed(&values, size);
    same(&format!("reverse {shape:?}"), &x.to_vec().map_err(failed)?, &expected)
}

fn scan(device: &Device, shape: [u32; 3], n: usize) -> Result<(), String> {
    let size = shape.iter().product::<u32>() as usize;
    let values = numbers(size);
    let x = device.buffer(&values).map_err(failed)?;
    let mut found = device.buffer(&vec![-1; size]).map_err(failed)?;
    // SAFETY: both buffers have one element for each thread.
    unsafe { corpus::scan(&x, &mut found, n as u32).launch(device, 1, shape) }.map_err(failed)?;
    let expected = expected::scanned(&values, n);
    same(&format!("scan of {n}, {shape:?}"), &found.to_vec().map_err(failed)?, &expected)
}

fn votes(device: &Device, shape: [u32; 3]) -> Result<(), String> {
    let size = shape.iter().product::<u32>() as usize;
    let list = || device.buffer(&vec![-1; 2 * size]).map_err(failed);
    let (mut counts, mut alls, mut anys) = (list()?, list()?, list()?);
    // SAFETY: each buffer has two elements for each thread.
    unsafe { corpus::votes(&mut counts, &mut alls, &mut anys).launch(device, 1, shape) }
        .map_err(failed)?;
    let expected = expected::votes(size);
    for (list, expected) in [counts, alls, anys].into_iter().zip(&expected) {
        same(&format!("votes {shape:?}"), &list.to_vec().map_err(failed)?, expected)?;
    }
    Ok(())
}

fn lanes(device: &Device, shape: [u32; 3], warp_size: usize) -> Result<(), String> {
    let size = shape.iter().product::<u32>() as usize;
    let values = numbers(size);
    let x = device.buffer(&values).map_err(failed)?;
    let mut found = device.buffer(&vec![-1_i64; 8 * size]).map_err(failed)?;
    // SAFETY: the kernel reads one element for each thread, and writes eight.
    unsafe { corpus::lanes(&x, &mut found).launch(device, 1, shape) }.map_err(failed)?;
    let mut expected = expected::lanes(&values, warp_size);
    // A lane that reads one that is not there gets a value that guides leave open.
    let mut found = found.to_vec().map_err(failed)?;
    let is_whole = size.is_multiple_of(warp_size);
    if !is_whole && device.kind() != offload_gpu::run::DeviceKind::Cpu {
        let whole = size / warp_size * warp_size * 8;
        found.truncate(whole);
        expected.truncate(whole);
    }
    same(&format!("lanes {shape:?}"), &found, &expected)
}

fn transpose(device: &Device) -> Result<(), String> {
    let (rows, columns) = (48, 80);
    let values = numbers(rows * columns);
    let x = device.buffer(&values).map_err(failed)?;
    for height in [1, 4, 16] {
        let mut found = device.buffer(&vec![-1; rows * columns]).map_err(failed)?;
        let grid = (columns as u32 / 16, rows as u32 / 16);
        // SAFETY: the matrices have 16 rows and columns for each block.
        unsafe { corpus::transpose(&x, &mut found).launch(device, grid, (16, height)) }
            .map_err(failed)?;
        let expected = expected::transposed(&values, rows, columns);
        let found = found.to_vec().map_err(failed)?;
        same(&format!("transpose, {height} rows of threads"), &found, &expected)?;
    }
    Ok(())
}

fn atomics(device: &Device) -> Result<(), String> {
    const THREADS: u32 = 5 * 96;
    let start = Cells::new();
    let mut i = device.buffer(&start.i).map_err(failed)?;
    let mut u = device.buffer(&start.u).map_err(failed)?;
    let mut l = device.buffer(&start.l).map_err(failed)?;
    let mut f = device.buffer(&start.f).map_err(failed)?;
    let mut d = device.buffer(&start.d).map_err(failed)?;
    // SAFETY: the buffers have all elements that the kernel changes, by atomic functions.
    unsafe { corpus::atomics(&mut i, &mut u, &mut l, &mut f, &mut d).launch(device, 5, (32, 3)) }
        .map_err(failed)?;
    let expected = Cells::after(1, THREADS);
    same("atomics of int", &i.to_vec().map_err(failed)?, &expected.i)?;
    same("atomics of unsigned", &u.to_vec().map_err(failed)?, &expected.u)?;
    same("atomics of 64 bits", &l.to_vec().map_err(failed)?, &expected.l)?;
    same("atomics of float", &f.to_vec().map_err(failed)?, &expected.f)?;
    same("atomics of double", &d.to_vec().map_err(failed)?, &expected.d)
}

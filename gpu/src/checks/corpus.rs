//! The kernels of tests/builds/kernel_header/kernels.cu, with blocks of many sizes. `cpu.rs` beside
//! them compares the same kernels on the CPU; here they run on any device, through the run time.

use super::{Outcome, failed, same};
use crate::kernels::checks::{PACK, corpus};
use offload_gpu::run::{Device, Launch};

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

fn numbers(count: usize) -> Vec<i32> {
    (0..count as i32).map(|i| (i * 37 + 11) % 101).collect()
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
    let expected: Vec<f32> = values.chunks(size).map(|block| block.iter().sum()).collect();
    same(&format!("tree_sum {shape:?}"), &found.to_vec().map_err(failed)?, &expected)
}

fn reversal(device: &Device, shape: [u32; 3]) -> Result<(), String> {
    let size = shape.iter().product::<u32>() as usize;
    let values: Vec<f64> = (0..2 * size).map(|x| x as f64).collect();
    let mut x = device.buffer(&values).map_err(failed)?;
    let launch = Launch::new(2, shape).shared_memory(8 * size);
    // SAFETY: the buffer has one element for each thread of two blocks.
    unsafe { corpus::reverse(&mut x).launch_as(device, &launch) }.map_err(failed)?;
    let expected: Vec<f64> =
        values.chunks(size).flat_map(|block| block.iter().rev().copied()).collect();
    same(&format!("reverse {shape:?}"), &x.to_vec().map_err(failed)?, &expected)
}

fn scan(device: &Device, shape: [u32; 3], n: usize) -> Result<(), String> {
    let size = shape.iter().product::<u32>() as usize;
    let values = numbers(size);
    let x = device.buffer(&values).map_err(failed)?;
    let mut found = device.buffer(&vec![-1; size]).map_err(failed)?;
    // SAFETY: both buffers have one element for each thread.
    unsafe { corpus::scan(&x, &mut found, n as u32).launch(device, 1, shape) }.map_err(failed)?;
    let mut sum = 0;
    let expected: Vec<i32> = (0..size)
        .map(|t| {
            sum += values[t];
            if t < n { sum } else { -1 }
        })
        .collect();
    same(&format!("scan of {n}, {shape:?}"), &found.to_vec().map_err(failed)?, &expected)
}

fn votes(device: &Device, shape: [u32; 3]) -> Result<(), String> {
    let size = shape.iter().product::<u32>() as usize;
    let list = || device.buffer(&vec![-1; 2 * size]).map_err(failed);
    let (mut counts, mut alls, mut anys) = (list()?, list()?, list()?);
    // SAFETY: each buffer has two elements for each thread.
    unsafe { corpus::votes(&mut counts, &mut alls, &mut anys).launch(device, 1, shape) }
        .map_err(failed)?;
    let stay: Vec<usize> = (0..size).filter(|t| t % 3 != 2).collect();
    let mut expected = [(); 3].map(|()| vec![-1; 2 * size]);
    for round in 0..2 {
        let count = stay.iter().filter(|t| *t % 2 == round).count() as i32;
        let all = i32::from(stay.iter().all(|t| *t < 500 + round));
        let any = i32::from(stay.contains(&(7 + round)));
        for t in &stay {
            for (list, value) in expected.iter_mut().zip([count, all, any]) {
                list[2 * t + round] = value;
            }
        }
    }
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
    let mut expected = Vec::new();
    for warp in values.chunks(warp_size) {
        let warp: Vec<i64> = warp.iter().map(|x| i64::from(*x)).collect();
        let bits = |holds: &dyn Fn(usize) -> bool| {
            (0..warp.len()).map(|l| i64::from(holds(l)) << l).sum::<i64>()
        };
        let (mut tree, mut step) = (warp.clone(), warp_size / 2);
        while step > 0 {
            tree =
                (0..tree.len()).map(|l| tree[l] + tree.get(l + step).unwrap_or(&tree[l])).collect();
            step /= 2;
        }
        for (lane, own) in warp.iter().enumerate() {
            let of = |source: usize| *warp.get(source).unwrap_or(own);
            expected.push(of(3));
            expected.push(if lane < 5 { *own } else { of(lane - 5) } * 0x1_0000_0001);
            expected.push(if lane % 8 == 7 { *own } else { of(lane + 1) });
            expected.push(of(lane ^ 9));
            expected.push(bits(&|l| warp[l] % 3 == 0));
            expected.push(i64::from(warp.contains(&7)) * 2 + 1);
            expected.push(if lane % 2 == 0 { bits(&|l| l % 2 == 0) } else { of(lane + 2) });
            expected.push(if lane == 0 { tree[0] } else { 0 });
        }
    }
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
        let at = (0..columns).flat_map(|column| (0..rows).map(move |row| row * columns + column));
        let expected: Vec<i32> = at.map(|at| values[at]).collect();
        let found = found.to_vec().map_err(failed)?;
        same(&format!("transpose, {height} rows of threads"), &found, &expected)?;
    }
    Ok(())
}

fn atomics(device: &Device) -> Result<(), String> {
    const THREADS: u32 = 5 * 96;
    let mut i = device.zeros::<i32>(5).map_err(failed)?;
    let mut u = device.buffer(&[u32::MAX, 0, 0, 0, 0, 0, 0]).map_err(failed)?;
    let mut l = device.zeros::<u64>(2).map_err(failed)?;
    let mut f = device.zeros::<f32>(2).map_err(failed)?;
    let mut d = device.zeros::<f64>(2).map_err(failed)?;
    // SAFETY: the buffers have all elements that the kernel changes, by atomic functions.
    unsafe { corpus::atomics(&mut i, &mut u, &mut l, &mut f, &mut d).launch(device, 5, (32, 3)) }
        .map_err(failed)?;
    let last = THREADS - 1;
    let sum = THREADS * last / 2;
    let expected = [sum as i32, -(sum as i32), -(last as i32), last as i32, 2 * THREADS as i32];
    same("atomics of int", &i.to_vec().map_err(failed)?, &expected)?;
    // With exclusive or, each value up to the last one counts once. Ten increments or decrements
    // return a counter to its start.
    let exclusive = (0..THREADS).fold(0, |all, t| all ^ t);
    let (up, down) = (THREADS % 10, (10 - THREADS % 10) % 10);
    let expected = [u32::MAX << 5, 0x7f, exclusive, up, down, 1, 1];
    same("atomics of unsigned", &u.to_vec().map_err(failed)?, &expected)?;
    let expected = [0x1_0000_0001 * u64::from(sum), 0x1_0000_0000 + u64::from(last)];
    same("atomics of 64 bits", &l.to_vec().map_err(failed)?, &expected)?;
    same("atomics of float", &f.to_vec().map_err(failed)?, &[THREADS as f32, -(last as f32)])?;
    let expected = [f64::from(sum) / 2.0, f64::from(last) / 2.0];
    same("atomics of double", &d.to_vec().map_err(failed)?, &expected)
}

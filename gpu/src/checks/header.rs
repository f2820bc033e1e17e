//! The kernel header's corpus: indices, shared memory, barriers, warp functions, atomics.

use crate::report::{Result, Run, compare, finding};
use offload_gpu::run::{Device, DeviceKind, Launch};

pub mod kernels {
    offload_gpu::include_kernels!("header");
}

/// Sizes of blocks for kernels whose warps may have missing lanes.
const SIZES: [u32; 12] = [1, 2, 31, 32, 33, 64, 100, 256, 333, 512, 1000, 1024];
const SHAPES: [[u32; 3]; 6] =
    [[8, 4, 4], [1, 32, 2], [3, 5, 7], [1, 1, 64], [2, 33, 1], [16, 16, 4]];

pub fn run(run: &mut Run) -> Result<String> {
    let device = run.device.clone();
    let warp = places(&device, [3, 2, 2], [5, 3, 2])?;
    places(&device, [7, 1, 1], [1, 1, 64])?;
    run.figure("warp size", u64::from(warp));
    let shapes: Vec<[u32; 3]> = SIZES.map(|size| [size, 1, 1]).into_iter().chain(SHAPES).collect();
    for shape in &shapes {
        let result = sums(&device, *shape);
        run.part(&format!("shared memory, blocks of {shape:?}"), result);
        let result = reversal(&device, *shape);
        run.part(&format!("dynamic shared memory, blocks of {shape:?}"), result);
        let size: u32 = shape.iter().product();
        for n in [1, size / 2 + 1, size] {
            let result = scan(&device, *shape, n);
            run.part(&format!("barriers after {n} threads stay, blocks of {shape:?}"), result);
        }
        let result = votes(&device, *shape);
        run.part(&format!("votes at barriers, blocks of {shape:?}"), result);
        // A lane that takes part in no call has no value for others, except on the CPU.
        if device.kind() == DeviceKind::Cpu || size.is_multiple_of(warp) {
            let result = lanes(&device, *shape, warp as usize);
            run.part(&format!("warp functions, blocks of {shape:?}"), result);
        }
    }
    let result = transpose(&device);
    run.part("a tile in shared memory", result);
    let result = atomics(&device);
    run.part("atomic functions", result);
    Ok(format!("{} shapes of blocks, warps of {warp} lanes", shapes.len()))
}

fn product(shape: [u32; 3]) -> usize {
    shape.iter().product::<u32>() as usize
}

fn numbers(count: usize) -> Vec<i32> {
    (0..count as i32).map(|i| (i * 37 + 11) % 101).collect()
}

/// Compares the indices of each thread; returns the size of a warp.
fn places(device: &Device, grid: [u32; 3], block: [u32; 3]) -> Result<u32> {
    let threads = product(grid) * product(block);
    let mut out = device.zeros::<u32>(13 * threads)?;
    // SAFETY: the kernel writes 13 numbers for each thread.
    unsafe { kernels::places(&mut out).launch(device, grid, block)? };
    let out = out.to_vec()?;
    let warp = out[12];
    let mut expected = Vec::with_capacity(out.len());
    let each = |[x, y, z]: [u32; 3]| {
        (0..z).flat_map(move |z| (0..y).flat_map(move |y| (0..x).map(move |x| [x, y, z])))
    };
    for of_grid in each(grid) {
        for of_block in each(block) {
            expected.extend([of_block, of_grid, block, grid].concat());
            expected.push(warp);
        }
    }
    compare("indices", &out, &expected)?;
    match warp {
        32 | 64 => Ok(warp),
        other => finding(format!("warpSize is {other}")),
    }
}

fn sums(device: &Device, shape: [u32; 3]) -> Result {
    const BLOCKS: usize = 3;
    let size = product(shape);
    let x: Vec<f32> = numbers(BLOCKS * size).iter().map(|x| *x as f32).collect();
    let (from, mut to) = (device.buffer(&x)?, device.zeros::<f32>(BLOCKS)?);
    // SAFETY: the kernel reads as many elements as there are threads, and writes one for each
    // block.
    unsafe { kernels::tree_sum(&from, &mut to).launch(device, BLOCKS as u32, shape)? };
    let expected: Vec<f32> = x.chunks(size).map(|block| block.iter().sum()).collect();
    compare("sums", &to.to_vec()?, &expected)
}

fn reversal(device: &Device, shape: [u32; 3]) -> Result {
    let size = product(shape);
    let values: Vec<f64> = (0..2 * size).map(|x| x as f64).collect();
    let mut x = device.buffer(&values)?;
    let launch = Launch::new(2, shape).shared_memory(8 * size);
    // SAFETY: the data have one element for each thread of two blocks, and so has the memory.
    unsafe { kernels::reverse(&mut x).launch_as(device, &launch)? };
    let expected: Vec<f64> =
        values.chunks(size).flat_map(|block| block.iter().rev().copied()).collect();
    compare("reversed", &x.to_vec()?, &expected)
}

fn scan(device: &Device, shape: [u32; 3], n: u32) -> Result {
    let size = product(shape);
    let x = numbers(size);
    let (from, mut to) = (device.buffer(&x)?, device.buffer(&vec![-1_i32; size])?);
    // SAFETY: the data have one element for each thread.
    unsafe { kernels::scan(&from, &mut to, n).launch(device, 1, shape)? };
    let mut sum = 0;
    let expected: Vec<i32> = (0..size)
        .map(|t| {
            sum += x[t];
            if t < n as usize { sum } else { -1 }
        })
        .collect();
    compare("sums of the first elements", &to.to_vec()?, &expected)
}

fn votes(device: &Device, shape: [u32; 3]) -> Result {
    let size = product(shape);
    let none = vec![-1_i32; 2 * size];
    let (mut counts, mut alls, mut anys) =
        (device.buffer(&none)?, device.buffer(&none)?, device.buffer(&none)?);
    // SAFETY: the data have two elements for each thread.
    unsafe { kernels::votes(&mut counts, &mut alls, &mut anys).launch(device, 1, shape)? };
    let stay: Vec<usize> = (0..size).filter(|t| t % 3 != 2).collect();
    let mut expected = [(); 3].map(|()| none.clone());
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
    compare("counts", &counts.to_vec()?, &expected[0])?;
    compare("whether all", &alls.to_vec()?, &expected[1])?;
    compare("whether any", &anys.to_vec()?, &expected[2])
}

fn lanes(device: &Device, shape: [u32; 3], size_of_warp: usize) -> Result {
    let size = product(shape);
    let x = numbers(size);
    let (from, mut to) = (device.buffer(&x)?, device.buffer(&vec![-1_i64; 8 * size])?);
    // SAFETY: the data have one element for each thread, and eight results.
    unsafe { kernels::lanes(&from, &mut to).launch(device, 1, shape)? };
    let mut found = to.to_vec()?;
    let mut expected = Vec::new();
    for (number, warp) in x.chunks(size_of_warp).enumerate() {
        let warp: Vec<i64> = warp.iter().map(|x| i64::from(*x)).collect();
        let bits = |holds: &dyn Fn(usize) -> bool| {
            (0..warp.len()).fold(0, |bits, lane| bits | i64::from(holds(lane)) << lane)
        };
        let mut tree = warp.clone();
        let mut step = size_of_warp / 2;
        while step > 0 {
            tree =
                (0..tree.len()).map(|l| tree[l] + tree.get(l + step).unwrap_or(&tree[l])).collect();
            step /= 2;
        }
        let even = bits(&|l| l % 2 == 0);
        for (lane, own) in warp.iter().enumerate() {
            // Beyond the end is the lane itself, and so is a lane that does not exist.
            let of = |source: usize| *warp.get(source).unwrap_or(own);
            expected.push(of(3));
            expected.push(if lane < 5 { *own } else { of(lane - 5) } * 0x1_0000_0001);
            expected.push(if lane % 8 == 7 { *own } else { of(lane + 1) });
            expected.push(of(lane ^ 9));
            expected.push(bits(&|l| warp[l] % 3 == 0));
            expected.push(i64::from(warp.contains(&7)) * 2 + 1);
            expected.push(if lane % 2 == 0 { even } else { of(lane + 2) });
            expected.push(if lane == 0 { tree[0] } else { 0 });
            // __activemask promises only that the lane itself is in it, and no lane that is
            // elsewhere.
            let active = &mut found[8 * (number * size_of_warp + lane) + 6];
            if lane % 2 == 0 && *active & !even == 0 && *active >> lane & 1 == 1 {
                *active = even;
            }
        }
    }
    compare("eight results of each thread", &found, &expected)
}

fn transpose(device: &Device) -> Result {
    let (rows, columns) = (48, 80);
    let x = numbers(rows * columns);
    let from = device.buffer(&x)?;
    for height in [1, 4, 16] {
        let mut to = device.buffer(&vec![-1_i32; rows * columns])?;
        let grid = (columns as u32 / 16, rows as u32 / 16);
        // SAFETY: the matrices have 16 rows and columns for each block.
        unsafe { kernels::transpose(&from, &mut to).launch(device, grid, (16, height))? };
        let at = (0..columns).flat_map(|column| (0..rows).map(move |row| row * columns + column));
        let expected: Vec<i32> = at.map(|at| x[at]).collect();
        compare("transposed", &to.to_vec()?, &expected)?;
    }
    Ok(())
}

fn atomics(device: &Device) -> Result {
    const LAUNCHES: u32 = 4;
    const THREADS: u32 = 5 * 96;
    let mut i = device.zeros::<i32>(5)?;
    let mut u = device.buffer(&[!0_u32, 0, 0, 0, 0, 0, 0])?;
    let mut l = device.zeros::<u64>(2)?;
    let mut f = device.zeros::<f32>(2)?;
    let mut d = device.zeros::<f64>(2)?;
    for _ in 0..LAUNCHES {
        // SAFETY: the arrays have all elements that the kernel accesses.
        unsafe {
            kernels::atomics(&mut i, &mut u, &mut l, &mut f, &mut d).launch(device, 5, (32, 3))?
        };
    }
    let (last, all) = (THREADS - 1, LAUNCHES * THREADS);
    let sum = LAUNCHES * THREADS * last / 2;
    let [as_int, last_int] = [sum, last].map(u32::cast_signed);
    compare("int", &i.to_vec()?, &[as_int, -as_int, -last_int, last_int, 2 * all as i32])?;
    // With exclusive or, an even number of equal values gives 0. Ten increments or decrements
    // return a counter to its start.
    let expected = [!0 << 5, 0x7f, 0, all % 10, (10 - all % 10) % 10, 1, 1];
    compare("unsigned", &u.to_vec()?, &expected)?;
    let expected = [0x1_0000_0001 * u64::from(sum), 0x1_0000_0000 + u64::from(last)];
    compare("unsigned long long", &l.to_vec()?, &expected)?;
    compare("float", &f.to_vec()?, &[all as f32, -(last as f32)])?;
    compare("double", &d.to_vec()?, &[f64::from(sum) / 2.0, f64::from(last) / 2.0])
}

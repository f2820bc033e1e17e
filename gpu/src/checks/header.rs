//! Runs the kernel header's corpus: indices, shared memory, barriers, warp functions, atomics.

use crate::report::{Result, Run, compare, finding};
use expected::{Cells, numbers};
use offload_gpu::run::{Device, Launch, Vendor};

#[path = "../../../tests/builds/kernel_header/expected.rs"]
mod expected;

pub mod kernels {
    offload_gpu::include_kernels!("header");
}

/// Block sizes for kernels that allow the last warp to lack lanes.
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
        run.attempt(&format!("shared memory, blocks of {shape:?}"), || sums(&device, *shape));
        run.attempt(&format!("dynamic shared memory, blocks of {shape:?}"), || {
            reversal(&device, *shape)
        });
        let size: u32 = shape.iter().product();
        // If a driver compiles SPIR-V, no thread may leave a block before the block's last barrier,
        // because the block would wait for the missing warp.
        let may_leave = device.vendor() != Vendor::Intel;
        for n in [1, size / 2 + 1, size].into_iter().filter(|n| may_leave || *n == size) {
            run.attempt(&format!("barriers after {n} threads stay, blocks of {shape:?}"), || {
                scan(&device, *shape, n)
            });
        }
        let leaves_a_warp = size % warp == 1 && (size - 1) % 3 == 2;
        if may_leave || !leaves_a_warp {
            run.attempt(&format!("votes at barriers, blocks of {shape:?}"), || {
                votes(&device, *shape)
            });
        }
        if may_leave {
            run.attempt(&format!("groups without returned lanes, blocks of {shape:?}"), || {
                groups(&device, *shape, warp as usize)
            });
        }
        // Except on the CPU, a lane cannot read a value from a lane that does not take part in the
        // call, so test these functions only with blocks of whole warps.
        if device.vendor() == Vendor::Cpu || size.is_multiple_of(warp) {
            run.attempt(&format!("warp functions, blocks of {shape:?}"), || {
                lanes(&device, *shape, warp as usize)
            });
        }
    }
    run.attempt("a tile in shared memory", || transpose(&device));
    run.attempt("atomic functions", || atomics(&device));
    Ok(format!("{} shapes of blocks, warps of {warp} lanes", shapes.len()))
}

fn product(shape: [u32; 3]) -> usize {
    shape.iter().product::<u32>() as usize
}

/// Compares each thread's indices; returns the size of a warp.
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
    // SAFETY: the kernel reads one element per thread, and writes one per block.
    unsafe { kernels::tree_sum(&from, &mut to).launch(device, BLOCKS as u32, shape)? };
    compare("sums", &to.to_vec()?, &expected::sums(&x, size))
}

fn reversal(device: &Device, shape: [u32; 3]) -> Result {
    let size = product(shape);
    let values: Vec<f64> = (0..2 * size).map(|x| x as f64).collect();
    let mut x = device.buffer(&values)?;
    let launch = Launch::new(2, shape).shared_memory(8 * size);
    // SAFETY: `x` has one element per thread of two blocks, and each block's shared memory has one
    // per thread of the block.
    unsafe { kernels::reverse(&mut x).launch_as(device, &launch)? };
    compare("reversed", &x.to_vec()?, &expected::reversed(&values, size))
}

fn scan(device: &Device, shape: [u32; 3], n: u32) -> Result {
    let x = numbers(product(shape));
    let (from, mut to) = (device.buffer(&x)?, device.buffer(&vec![-1_i32; x.len()])?);
    // SAFETY: the buffers have one element per thread.
    unsafe { kernels::scan(&from, &mut to, n).launch(device, 1, shape)? };
    compare("sums of the first elements", &to.to_vec()?, &expected::scanned(&x, n as usize))
}

fn votes(device: &Device, shape: [u32; 3]) -> Result {
    let size = product(shape);
    let none = vec![-1_i32; 2 * size];
    let (mut counts, mut alls, mut anys) =
        (device.buffer(&none)?, device.buffer(&none)?, device.buffer(&none)?);
    // SAFETY: the buffers have two elements per thread.
    unsafe { kernels::votes(&mut counts, &mut alls, &mut anys).launch(device, 1, shape)? };
    let expected = expected::votes(size);
    compare("counts", &counts.to_vec()?, &expected[0])?;
    compare("whether all", &alls.to_vec()?, &expected[1])?;
    compare("whether any", &anys.to_vec()?, &expected[2])
}

fn lanes(device: &Device, shape: [u32; 3], size_of_warp: usize) -> Result {
    let x = numbers(product(shape));
    let (from, mut to) = (device.buffer(&x)?, device.buffer(&vec![-1_i64; 8 * x.len()])?);
    // SAFETY: `from` has one element for each thread, and `to` has eight.
    unsafe { kernels::lanes(&from, &mut to).launch(device, 1, shape)? };
    let (mut found, expected) = (to.to_vec()?, expected::lanes(&x, size_of_warp));
    // __activemask promises only that the result includes the lane itself, and that it includes no
    // lane that executes different code.
    for thread in (0..x.len()).filter(|thread| (thread % size_of_warp).is_multiple_of(2)) {
        let (active, even) = (&mut found[8 * thread + 6], expected[8 * thread + 6]);
        if *active & !even == 0 && *active >> (thread % size_of_warp) & 1 == 1 {
            *active = even;
        }
    }
    compare("eight results of each thread", &found, &expected)
}

fn groups(device: &Device, shape: [u32; 3], size_of_warp: usize) -> Result {
    let x = numbers(product(shape));
    let (from, mut to) = (device.buffer(&x)?, device.buffer(&vec![-1_i64; 8 * x.len()])?);
    // SAFETY: `from` has one element for each thread, and `to` has eight.
    unsafe { kernels::groups(&from, &mut to).launch(device, 1, shape)? };
    compare("eight results of each thread", &to.to_vec()?, &expected::groups(&x, size_of_warp))
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
        compare("transposed", &to.to_vec()?, &expected::transposed(&x, rows, columns))?;
    }
    Ok(())
}

fn atomics(device: &Device) -> Result {
    const LAUNCHES: u32 = 4;
    const THREADS: u32 = 5 * 96;
    let start = Cells::new();
    let (mut i, mut u) = (device.buffer(&start.i)?, device.buffer(&start.u)?);
    let (mut l, mut f) = (device.buffer(&start.l)?, device.buffer(&start.f)?);
    let mut d = device.buffer(&start.d)?;
    for _ in 0..LAUNCHES {
        // SAFETY: the arrays have all elements that the kernel accesses.
        unsafe {
            kernels::atomics(&mut i, &mut u, &mut l, &mut f, &mut d).launch(device, 5, (32, 3))?
        };
    }
    let expected = Cells::after(LAUNCHES, THREADS);
    compare("int", &i.to_vec()?, &expected.i)?;
    compare("unsigned", &u.to_vec()?, &expected.u)?;
    compare("unsigned long long", &l.to_vec()?, &expected.l)?;
    compare("float", &f.to_vec()?, &expected.f)?;
    compare("double", &d.to_vec()?, &expected.d)
}

//! Runs kernels on the CPU: with the kit, with PoCL, or as plain Rust. Prints a line for each
//! kernel: its name, and the processor time and elapsed time in nanoseconds. Each time is the
//! minimum of five runs.

use super::now;
use super::pocl::PoCl;
use offload_gpu::run::Device;
use std::hint::black_box;
use std::thread;
use std::time::Instant;

mod kernels {
    offload_gpu::include_kernels!("cpu");
}

/// A launch of a kernel.
pub struct Row {
    pub name: &'static str,
    pub kernel: &'static str,
    pub n: i32,
    pub grid: (u32, u32),
    pub block: (u32, u32),
    /// How many numbers the kernel reads and writes.
    numbers: (usize, usize),
    /// How many launches to measure together.
    pub launches: u32,
}

const fn row(kernel: &'static str, n: i32, written: usize) -> Row {
    let (grid, block, read) = match n {
        512 | 1024 => ((n as u32 / 16, n as u32 / 16), (16, 16), (n * n) as usize),
        _ => ((n as u32 / 256, 1), (256, 1), n as usize),
    };
    Row { name: kernel, kernel, n, grid, block, numbers: (read, written), launches: 1 }
}

const ROWS: [Row; 12] = [
    row("saxpy", 1 << 24, 1 << 24),
    row("gelu", 1 << 24, 1 << 24),
    row("block_sum", 1 << 24, 1 << 16),
    row("mandel", 1024, 1 << 20),
    row("naive", 512, 1 << 18),
    row("tiled", 512, 1 << 18),
    row("nbody", 8192, 8192),
    row("stencil", 1 << 24, 1 << 24),
    Row { grid: (1024, 1), ..row("histogram", 1 << 24, 1 << 18) },
    row("warp_sum", 1 << 20, 1 << 15),
    Row { name: "one_thread", grid: (1, 1), block: (1, 1), launches: 500, ..row("saxpy", 1, 1) },
    Row { name: "one_wait", launches: 500, ..row("stencil", 256, 256) },
];

/// Runs all kernels with `peer`: a device of the kit, `pocl` or `rust`.
pub fn run(peer: &str) {
    let pocl = (peer == "pocl").then(PoCl::new);
    for row in &ROWS {
        let (read, written) = row.numbers;
        // Numbers from -2 to 2 whose sums need rounding.
        let number = |i: usize| ((i * 2_654_435_761) % 1_000_003) as f32 / 250_001.0 - 2.0;
        let x: Vec<f32> = (0..read).map(number).collect();
        let ones = vec![1.0; written];
        let mut expected = ones.clone();
        plain(row, &x, &mut expected);
        match (peer, &pocl) {
            // Skip kernels with so little work: only the threads' overhead would be measured.
            ("rust", _) if row.launches > 1 => {}
            ("rust", _) => {
                let mut y = ones;
                measure(row, &expected, |is_read| {
                    plain(row, black_box(&x), black_box(&mut y));
                    if is_read { y.clone() } else { Vec::new() }
                });
            }
            // PoCL 3.1 has no shuffles.
            (_, Some(_)) if row.kernel == "warp_sum" => {}
            (_, Some(pocl)) => measure(row, &expected, pocl.launcher(row, &x, &ones)),
            (device, None) => {
                let device = Device::named(device).expect("there is such a device");
                let x = device.buffer(&x).expect("there is memory");
                let mut y = device.buffer(&ones).expect("there is memory");
                let kernel = kernels::named(row.kernel).expect("the module has it");
                measure(row, &expected, |is_read| {
                    let call = kernel.call((row.n, &x, &mut y)).expect("the types are right");
                    for _ in 0..if is_read { 1 } else { row.launches } {
                        // SAFETY: the buffers are as large as the kernel needs.
                        unsafe { call.launch(&device, row.grid, row.block) }.expect("it runs");
                        device.synchronize().expect("it runs");
                    }
                    if is_read { y.to_vec().expect("there is memory") } else { Vec::new() }
                });
            }
        }
    }
}

/// Compares the results of the first run with the expected ones, and prints the minimum times of
/// five more runs. A result may differ by 1/10,000 of the largest result. One in a hundred results
/// of `mandel` may differ by more: `mandel` counts iterations, and their number may change a lot if
/// a compiler fuses operations.
fn measure(row: &Row, expected: &[f32], mut run: impl FnMut(bool) -> Vec<f32>) {
    let results = run(true);
    let largest = expected.iter().fold(0.0_f32, |most, value| most.max(value.abs()));
    let wrong = results.iter().zip(expected).filter(|(result, expected)| {
        // NaN is also wrong.
        !((*result - *expected).abs() <= largest / 10_000.0)
    });
    let (wrong, count) = (wrong.count(), results.len());
    let most = if row.kernel == "mandel" { count / 100 } else { 0 };
    assert!(count == expected.len() && wrong <= most, "{}: {wrong} of {count} are wrong", row.name);
    let (mut processor, mut time) = (f64::MAX, f64::MAX);
    for _ in 0..5 {
        let (start, before) = (Instant::now(), now(libc::CLOCK_PROCESS_CPUTIME_ID));
        run(false);
        let after = now(libc::CLOCK_PROCESS_CPUTIME_ID);
        processor = processor.min((after - before) as f64 / f64::from(row.launches));
        time = time.min(start.elapsed().as_nanos() as f64 / f64::from(row.launches));
    }
    println!("{} {processor} {time}", row.name);
}

/// Computes a kernel's results, on all cores.
fn plain(row: &Row, x: &[f32], y: &mut [f32]) {
    let threads = thread::available_parallelism().map_or(1, usize::from);
    // The length of a row or a block is a power of two and at most 1,024, so no part ends inside
    // one.
    let part = y.len().div_ceil(threads).next_multiple_of(1024);
    thread::scope(|scope| {
        for (number, y) in y.chunks_mut(part).enumerate() {
            scope.spawn(move || plain_part(row, x, y, number * part));
        }
    });
}

/// Computes a part of the results, starting with the one at index `first`.
fn plain_part(row: &Row, x: &[f32], y: &mut [f32], first: usize) {
    let n = row.n as usize;
    match row.kernel {
        "saxpy" => y.iter_mut().zip(&x[first..]).for_each(|(y, x)| *y += 0.5 * x),
        "gelu" => y.iter_mut().zip(&x[first..]).for_each(|(y, &x)| {
            *y = 0.5 * x * (1.0 + (0.797_884_56 * (x + 0.044715 * x * x * x)).tanh());
        }),
        "block_sum" | "warp_sum" => {
            let each = if row.kernel == "warp_sum" { 32 } else { 256 };
            let blocks = x[first * each..].chunks(each);
            y.iter_mut().zip(blocks).for_each(|(y, block)| *y = block.iter().sum());
        }
        "mandel" => y.iter_mut().enumerate().for_each(|(i, y)| {
            let (row, column) = ((first + i) / n, (first + i) % n);
            let real = -2.0 + 3.0 * column as f32 / n as f32;
            let imaginary = -1.5 + 3.0 * row as f32 / n as f32;
            let (mut a, mut b, mut round) = (0.0_f32, 0.0_f32, 0);
            while round < 500 && a * a + b * b < 4.0 {
                (a, b) = (a * a - b * b + real, 2.0 * a * b + imaginary);
                round += 1;
            }
            *y = round as f32;
        }),
        "naive" => y.iter_mut().enumerate().for_each(|(i, y)| {
            let (row, column) = ((first + i) / n, (first + i) % n);
            *y = (0..n).map(|k| x[row * n + k] * x[k * n + column]).sum();
        }),
        // This loop order needs no tiles: the innermost loop reads and writes along rows.
        "tiled" => y.chunks_mut(n).zip(x[first..].chunks(n)).for_each(|(y, left)| {
            y.fill(0.0);
            for (left, right) in left.iter().zip(x.chunks(n)) {
                y.iter_mut().zip(right).for_each(|(y, right)| *y += left * right);
            }
        }),
        "nbody" => y.iter_mut().zip(&x[first..]).for_each(|(y, here)| {
            let distances = x.iter().map(|there| there - here);
            *y = distances.map(|d| d / (d * d * d * d * d * d + 0.01).sqrt()).sum();
        }),
        "stencil" => y.iter_mut().enumerate().for_each(|(i, y)| {
            let i = first + i;
            *y = x[i.saturating_sub(4)..(i + 5).min(n)].iter().sum();
        }),
        "histogram" => y.chunks_mut(256).zip(x[first * 64..].chunks(16384)).for_each(|(y, x)| {
            y.fill(0.0);
            x.iter().for_each(|x| y[(x * 64.0 + 128.0) as usize] += 1.0);
        }),
        other => panic!("{other} has no plain form"),
    }
}

//! Runs kernels on the chosen device and on the CPU, and prints whether the results are the same.

use offload_gpu::run::{Device, Launch, RunError};
use offload_gpu::types::{Bf16, Bool, F16};
use std::env;
use std::sync::LazyLock;

mod kernels {
    offload_gpu::include_kernels!("kernels");
}
mod waiting {
    offload_gpu::include_kernels!("waiting");
}
mod rows {
    offload_gpu::include_kernels!("rows");
}
mod conversions {
    offload_gpu::include_kernels!("conversions");
}

type Result<T = ()> = std::result::Result<T, RunError>;

/// Rows with inexact functions, each with the greatest allowed relative difference.
const NEAR: [(&str, f64); 2] = [("math", 1e-6), ("fast_math", 1e-5)];

fn main() {
    let names: Vec<String> = env::args().skip(1).collect();
    match names.is_empty() {
        true => kernels(),
        false => names.iter().for_each(|name| row(name)),
    }
}

/// A number that is compared by its bits.
trait Bits: Copy {
    fn bits(self) -> u64;
}
macro_rules! bits {
    ($($ty:ty: |$x:ident| $bits:expr;)*) => {
        $(impl Bits for $ty {
            fn bits(self) -> u64 {
                let $x = self;
                $bits.into()
            }
        })*
    };
}
bits! {
    f32: |x| x.to_bits();
    f64: |x| x.to_bits();
    F16: |x| x.to_bits();
    Bf16: |x| x.to_bits();
    u64: |x| x;
    i32: |x| x.cast_unsigned();
}

/// Prints whether the results of both devices are bitwise equal.
fn same<T: Bits>(name: &str, run: impl Fn(&Device) -> Result<Vec<T>>) {
    let bits = |device: &Device| -> Result<Vec<u64>> { Ok(run(device)?.into_iter().map(T::bits).collect()) };
    print(name, both(bits), |there, here| (there == here).then(|| "equal".to_owned()));
}

/// The chosen device. All kernels share it, because each new device would compile the modules
/// again, which takes seconds.
static CHOSEN: LazyLock<Device> = LazyLock::new(|| {
    let device = Device::best_for(&rows::PACK).expect("there is a device");
    assert_ne!(device.name(), "cpu", "OFFLOAD_DEVICE names another device");
    device
});

/// Returns the results of the chosen device and of the CPU.
fn both<T>(run: impl Fn(&Device) -> Result<T>) -> Result<(T, T)> {
    Ok((run(&CHOSEN)?, run(&Device::cpu())?))
}

fn print(
    name: &str,
    results: Result<(Vec<u64>, Vec<u64>)>,
    judge: impl Fn(&[u64], &[u64]) -> Option<String>,
) {
    match results {
        Err(error) => println!("{name}: {error}"),
        Ok((there, here)) => match judge(&there, &here) {
            Some(how) => println!("{name}: {how}"),
            None => {
                let at = there.iter().zip(&here).position(|(there, here)| there != here);
                let at = at.unwrap_or(there.len().min(here.len()));
                println!(
                    "{name}: differs, first in number {at}: {:x?}, on the CPU {:x?}",
                    there.get(at),
                    here.get(at)
                );
            }
        },
    }
}

/// Runs the kernel for a row of the table of functions.
fn row(name: &str) {
    const THREADS: usize = 128;
    let x: Vec<f32> = (0..THREADS as i16 + 4).map(|i| f32::from(i * 37 % 101 - 50) * 0.375).collect();
    let n: Vec<i32> = (0..THREADS as i32 + 4).map(|i| i * 7919 % 1009).collect();
    let results = both(|device: &Device| {
        let (x, n) = (device.buffer(&x)?, device.buffer(&n)?);
        let mut out = device.zeros::<u64>(16 * THREADS)?;
        let call = rows::named(&format!("row_{name}"))?.call((&x, &n, &mut out))?;
        let launch = Launch::new(2, (16, 2, 2)).shared_memory(256);
        // SAFETY: a thread reads four numbers, starting at its own, and the first number of its
        // warp. It writes its 16 words, or adds to the last two words of the first thread.
        unsafe { call.launch_as(device, &launch)? };
        out.to_vec()
    });
    let near = NEAR.iter().find(|(of, _)| *of == name).map_or(0.0, |(_, near)| *near);
    print(name, results, |there, here| match near {
        0.0 => (there == here && there.iter().any(|word| *word != 0)).then(|| "equal".to_owned()),
        most => {
            let mut worst = 0.0_f64;
            for (there, here) in there.iter().zip(here) {
                let [there, here] = [there, here].map(|bits| f64::from_bits(*bits));
                // `max` would ignore a NaN.
                worst = worst.max(((there - here) / here.abs().max(1.0)).abs());
                assert!(there.is_finite() && here.is_finite(), "{name}: {there} {here}");
            }
            (worst <= most && worst > 0.0).then(|| format!("within {most:e}"))
        }
    });
}

/// Runs the kernels of the examples and of other tests, as their programs do.
fn kernels() {
    const N: usize = 1000;
    let floats = |count: usize| -> Vec<f32> {
        (0..count as i32).map(|i| (i * 7919 % 2003 - 1000) as f32 * 0.37).collect()
    };
    let (a, b) = (floats(N), floats(N).into_iter().rev().collect::<Vec<_>>());
    let n = N as i32;

    same("vector_add", |device| {
        let (a, b) = (device.buffer(&a)?, device.buffer(&b)?);
        let mut sum = device.zeros::<f32>(N)?;
        // SAFETY: all buffers of these kernels have the elements that the kernels access.
        unsafe { kernels::vector_add::vector_add(n, &a, &b, &mut sum).launch(device, 4, 256)? };
        sum.to_vec()
    });
    same("saxpy", |device| {
        let (x, mut y) = (device.buffer(&a)?, device.buffer(&b)?);
        // SAFETY: as above.
        unsafe { kernels::saxpy::saxpy(n, 1.7, &x, &mut y).launch(device, 4, 256)? };
        y.to_vec()
    });
    same("limit, scale, shift", |device| {
        let mut x = device.buffer(&a)?;
        // SAFETY: as above.
        unsafe {
            kernels::scale::scale(n, 1.3, &mut x).launch(device, 4, 256)?;
            kernels::shift::shift(n, 0.1, &mut x).launch(device, 4, 256)?;
            kernels::limit::limit(n, 99.0, &mut x).launch(device, 4, 256)?;
        }
        x.to_vec()
    });
    for block in [1_usize, 2, 3, 32, 64, 100, 256, 1000, 1024] {
        let whole: Vec<f32> = (0..1000_u16).map(f32::from).cycle().take(10_001).collect();
        same(&format!("block_sum of one-source, blocks of {block}"), |device| {
            let x = device.buffer(&whole)?;
            let mut sums = device.zeros::<f32>(x.len().div_ceil(block))?;
            let (n, grid) = (x.len() as i32, sums.len() as u32);
            let call = kernels::block_sum::block_sum(n, &x, &mut sums);
            // SAFETY: as above.
            unsafe { call.launch(device, grid, block as u32)? };
            sums.to_vec()
        });
    }
    same("relu<float>", |device| {
        let mut x = device.buffer(&a)?;
        kernels::elementwise::SLOPE.write(device, &0.125)?;
        // SAFETY: as above.
        unsafe { kernels::elementwise::relu_float(N as u32, &mut x).launch(device, 4, 256)? };
        x.to_vec()
    });
    let doubles: Vec<f64> = a.iter().map(|x| f64::from(*x) * 1.1).collect();
    same("relu<double>", |device| {
        let mut x = device.buffer(&doubles)?;
        kernels::elementwise::SLOPE.write(device, &0.125)?;
        // SAFETY: as above.
        unsafe { kernels::elementwise::relu_double(N as u32, &mut x).launch(device, 4, 256)? };
        x.to_vec()
    });
    macro_rules! squares {
        ($($name:ident of $numbers:expr;)*) => {
            $(same(stringify!($name), |device| {
                let numbers = $numbers;
                let (x, mut y) = (device.buffer(&numbers)?, device.buffer(&numbers)?);
                let call = kernels::elementwise::$name(N as u32, &x, &mut y);
                // SAFETY: as above.
                unsafe { call.launch(device, 4, 256)? };
                y.to_vec()
            });)*
        };
    }
    squares! {
        square_f32 of a.clone();
        square_f64 of doubles.clone();
        square_i32 of (0..n).map(|x| 3 * x - 999).collect::<Vec<i32>>();
    }
    same("block_sum of kernel-tests", |device| {
        let (x, mut sums) = (device.buffer(&a)?, device.zeros::<f32>(8)?);
        // SAFETY: as above.
        unsafe { kernels::linear::block_sum(n, &x, &mut sums).launch(device, 8, 128)? };
        sums.to_vec()
    });
    same("multiply", |device| {
        let (a, b) = (device.buffer(&floats(50 * 50))?, device.buffer(&floats(50 * 50))?);
        let mut c = device.zeros::<f32>(50 * 50)?;
        let call = kernels::linear::multiply(50, &a, &b, &mut c);
        // SAFETY: as above.
        unsafe { call.launch(device, (4, 4), (16, 16))? };
        c.to_vec()
    });
    same("matmul", |device| {
        let (a, b) = (device.buffer(&floats(64 * 64))?, device.buffer(&floats(64 * 64))?);
        let mut c = device.zeros::<f32>(64 * 64)?;
        let call = kernels::matmul::matmul(64, &a, &b, &mut c);
        // SAFETY: as above.
        unsafe { call.launch(device, (4, 4), (16, 16))? };
        c.to_vec()
    });
    same("registers", |device| {
        let mut out = device.zeros::<f64>(64)?;
        // SAFETY: as above.
        unsafe { waiting::registers(&mut out).launch(device, 1, 64)? };
        out.to_vec()
    });
    same("large_frames", |device| {
        let mut out = device.zeros::<i32>(1)?;
        // SAFETY: as above.
        unsafe { waiting::large_frames(&mut out).launch(device, 1, 1)? };
        out.to_vec()
    });
    same("saxpy of a module with two sources", |device| {
        let (x, mut y) = (device.buffer(&a)?, device.buffer(&b)?);
        // SAFETY: as above.
        unsafe { waiting::saxpy(n, -0.3, &x, &mut y).launch(device, 4, 256)? };
        y.to_vec()
    });
    same("three_bits, fifteen_bits", |device| {
        let n: Vec<i32> = (0..32).map(|i| i * i).collect();
        let (n, mut sum) = (device.buffer(&n)?, device.zeros::<u64>(1)?);
        // SAFETY: as above.
        unsafe {
            rows::three_bits(&n, 64, &mut sum).launch(device, 1, 1)?;
            rows::fifteen_bits(128, &mut sum).launch(device, 1, 1)?;
        }
        sum.to_vec()
    });
    same("conversions", |device| {
        let mut sums = device.zeros::<u64>(7 * 256)?;
        // SAFETY: as above; each block writes one element.
        unsafe { conversions::conversions(&mut sums).launch(device, 7 * 256, 1)? };
        sums.to_vec()
    });
    same("searches", |device| {
        let bytes: Vec<i8> = (0..64 * 64).map(|x: i32| (x * x % 113 % 61 * 2) as i8).collect();
        let (bytes, mut out) = (device.buffer(&bytes)?, device.zeros::<i32>(64)?);
        // SAFETY: each of 64 threads has 64 bytes and one element of the result.
        unsafe { conversions::searches(&bytes, 60, &mut out).launch(device, 1, 64)? };
        out.to_vec()
    });
    same("hidden, unnamed", |device| {
        let mut out = device.zeros::<i32>(64)?;
        // SAFETY: there is an element for each of 64 threads.
        unsafe {
            conversions::hidden(&mut out).launch(device, 1, 64)?;
            conversions::unnamed_int(&mut out).launch(device, 1, 64)?;
        }
        let out = out.to_vec()?;
        assert!(out.iter().all(|&x| x == 15), "{out:?}");
        Ok(out)
    });
    halves();
}

/// Runs kernels for half-precision numbers, with the same parameters as dfdx's kernels.
fn halves() {
    const N: usize = 64;
    let halves: Vec<F16> = (0..N as u16).map(|x| F16::from_bits(0x3c00 + 37 * x)).collect();
    let brains: Vec<Bf16> = (0..N as u16).map(|x| Bf16::from_bits(0x3f80 + 5 * x)).collect();
    same("fill_with_f16, neg_f16", |device| {
        let (x, mut out) = (device.buffer(&halves)?, device.zeros::<F16>(N)?);
        // SAFETY: all buffers of these kernels have the elements that the kernels access.
        unsafe {
            kernels::launches::fill_with_f16(&mut out, halves[9], N).launch(device, 1, 32)?;
            kernels::launches::neg_f16(N / 2, &x, &mut out).launch(device, 1, 32)?;
        }
        out.to_vec()
    });
    same("sum_to_f16", |device| {
        let (x, info) = (device.buffer(&halves)?, device.buffer(&[N, 1])?);
        let mut sums = device.zeros::<F16>(4)?;
        let call = kernels::launches::sum_to_f16(N, 1, halves[3], N / 4, &info, &x, &mut sums);
        // SAFETY: as above.
        unsafe { call.launch(device, 1, 32)? };
        sums.to_vec()
    });
    same("badd_fwd_bf16", |device| {
        let (x, info) = (device.buffer(&brains)?, device.buffer(&[1_usize])?);
        let mut out = device.zeros::<Bf16>(N)?;
        let call = kernels::launches::badd_fwd_bf16(N, 1, &info, &x, &x, &mut out);
        // SAFETY: as above.
        unsafe { call.launch(device, 2, 32)? };
        out.to_vec()
    });
    same("choose_f32", |device| {
        let choice: Vec<Bool> = (0..N).map(|at| Bool::from(at % 3 == 0)).collect();
        let (left, right) = (device.buffer(&[1.5_f32; N])?, device.buffer(&[2.5_f32; N])?);
        let (choice, mut out) = (device.buffer(&choice)?, device.zeros::<f32>(N)?);
        let call = kernels::launches::choose_f32(N, &choice, &left, &right, &mut out);
        // SAFETY: as above.
        unsafe { call.launch(device, 2, 32)? };
        out.to_vec()
    });
    same("swap_f16", |device| {
        let mut x = device.buffer(&halves)?;
        // SAFETY: as above.
        unsafe { kernels::native::swap_f16(N, &mut x).launch(device, 1, 1)? };
        x.to_vec()
    });
}

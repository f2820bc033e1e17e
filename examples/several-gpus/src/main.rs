//! Runs the kernel on all GPUs of the machine at the same time, whatever their vendor. Each GPU
//! gets the image that fits it. With `--pretend`, runs no kernel, but prints which image each GPU
//! of a list would get.

use std::error::Error;
use std::process::ExitCode;
use std::{env, thread};

use offload_gpu::DeviceInfo;
use offload_gpu::run::{Device, RunError, Vendor, devices};

/// The embedded pack, and a function for each kernel. The compiler checks the functions' arguments.
mod kernels {
    offload_gpu::include_kernels!("vector_add");
}

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let result = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => run(),
        ["--pretend", devices] => pretend(devices),
        _ => Err("usage: several-gpus [--pretend gfx90a,sm_90,...]".into()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Prints which image each device would get. `devices` is a comma-separated list of device names.
fn pretend(devices: &str) -> Result<(), Box<dyn Error>> {
    for name in devices.split(',') {
        match kernels::PACK.select(&DeviceInfo::parse(name)?) {
            Ok(choice) => {
                println!("{name}: {} {}, {}", choice.target(), choice.kind(), choice.fit())
            }
            Err(error) => println!("{name}: {error}"),
        }
    }
    Ok(())
}

/// Runs the kernel on every GPU, each in a separate thread.
fn run() -> Result<(), Box<dyn Error>> {
    let found = devices();
    let gpus: Vec<&Device> =
        found.list().iter().filter(|device| device.vendor() != Vendor::Cpu).collect();
    if gpus.is_empty() {
        let reasons: Vec<&str> = found.absent().iter().map(|absent| absent.why.as_str()).collect();
        return Err(format!("no GPU\n  {}", reasons.join("\n  ")).into());
    }
    let results: Vec<_> = thread::scope(|scope| {
        let threads: Vec<_> = gpus.iter().map(|gpu| scope.spawn(|| add(gpu))).collect();
        threads.into_iter().map(|thread| thread.join().expect("`add` does not panic")).collect()
    });

    let mut failed = 0;
    for (gpu, result) in gpus.iter().zip(results) {
        match result {
            Ok(did) => println!("{gpu}: {did}"),
            Err(error) => {
                eprintln!("{gpu}: {error}");
                failed += 1;
            }
        }
    }
    if failed > 0 {
        Err(format!("{failed} of {} GPUs did not compute", gpus.len()).into())
    } else {
        Ok(())
    }
}

/// Adds vectors on one GPU and checks the sums. Returns a line of text with the result.
fn add(gpu: &Device) -> Result<String, RunError> {
    const LEN: u16 = 10_000;
    const BLOCK: u32 = 256;
    let (a, b): (Vec<f32>, Vec<f32>) = (0..LEN).map(|i| (f32::from(i), f32::from(i % 7))).unzip();
    let (a_there, b_there, mut sum) = (gpu.buffer(&a)?, gpu.buffer(&b)?, gpu.zeros(a.len())?);
    let call = kernels::vector_add(i32::from(LEN), &a_there, &b_there, &mut sum);
    // SAFETY: the kernel accesses only the first `n` elements of the three vectors, and each has
    // `n` elements.
    unsafe { call.launch(gpu, u32::from(LEN).div_ceil(BLOCK), BLOCK)? };
    let sum = sum.to_vec()?;
    let right = (0..a.len()).filter(|&i| sum[i] == a[i] + b[i]).count();
    let image = kernels::PACK.on(gpu)?.image();
    Ok(format!("{} {}, {right} of {LEN} sums are right", image.target(), image.kind()))
}

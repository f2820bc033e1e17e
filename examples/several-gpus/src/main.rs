//! All NVIDIA GPUs of the machine at once, each with the image that fits it. With `--pretend`, what other GPUs would get.

mod modules;

use std::error::Error;
use std::process::ExitCode;
use std::sync::Arc;
use std::{env, thread};

use cudarc::driver::{CudaContext, LaunchConfig, PushKernelArg};
use modules::{LoadError, Modules};
use offload::{DeviceInfo, KernelPack, include_offload};

static VECTOR_ADD: KernelPack = include_offload!("vector_add");

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

/// Says which image each of these devices would get.
fn pretend(devices: &str) -> Result<(), Box<dyn Error>> {
    for name in devices.split(',') {
        match VECTOR_ADD.select(&DeviceInfo::parse(name)?) {
            Ok(choice) => println!("{name}: {} {}, {}", choice.target(), choice.kind(), choice.fit()),
            Err(error) => println!("{name}: {error}"),
        }
    }
    Ok(())
}

/// Runs the kernel on every GPU, each on a thread of its own.
fn run() -> Result<(), Box<dyn Error>> {
    let mut gpus = vec![modules::gpu(0)?];
    for index in 1..usize::try_from(CudaContext::device_count()?)? {
        gpus.push(modules::gpu(index)?);
    }
    let modules = Modules::new(&VECTOR_ADD);
    let results: Vec<_> = thread::scope(|scope| {
        let threads: Vec<_> = gpus.iter().map(|gpu| scope.spawn(|| add(&modules, gpu))).collect();
        threads.into_iter().map(|thread| thread.join().expect("`add` does not panic")).collect()
    });

    let mut failed = 0;
    for (index, (gpu, result)) in gpus.iter().zip(results).enumerate() {
        let name = gpu.name()?;
        match result {
            Ok(did) => println!("GPU {index}, {name}: {did}"),
            Err(error) => {
                eprintln!("GPU {index}, {name}: {error}");
                failed += 1;
            }
        }
    }
    if failed > 0 { Err(format!("{failed} of {} GPUs did not compute", gpus.len()).into()) } else { Ok(()) }
}

/// Adds vectors on one GPU and checks the sums. Returns what to say of it.
fn add(modules: &Modules, gpu: &Arc<CudaContext>) -> Result<String, LoadError> {
    const LEN: u16 = 10_000;
    let loaded = modules.on(gpu)?;
    let kernel = loaded.module.load_function("vector_add")?;
    let stream = gpu.default_stream();
    let (a, b): (Vec<f32>, Vec<f32>) = (0..LEN).map(|i| (f32::from(i), f32::from(i % 7))).unzip();
    let (a_there, b_there) = (stream.clone_htod(&a)?, stream.clone_htod(&b)?);
    let mut sum = stream.alloc_zeros::<f32>(a.len())?;
    let n = i32::from(LEN);
    // SAFETY: the arguments have the types of the kernel's parameters. It touches the first `n` elements of the three
    // vectors, which is how many each has.
    unsafe {
        stream
            .launch_builder(&kernel)
            .arg(&n)
            .arg(&a_there)
            .arg(&b_there)
            .arg(&mut sum)
            .launch(LaunchConfig::for_num_elems(u32::from(LEN)))
    }?;
    let sum = stream.clone_dtoh(&sum)?;
    let right = (0..a.len()).filter(|&i| sum[i] == a[i] + b[i]).count();
    Ok(format!("{} {}, {right} of {LEN} sums are right", loaded.image.target(), loaded.image.kind()))
}

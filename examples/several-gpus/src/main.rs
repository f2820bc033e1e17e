//! All NVIDIA GPUs of the machine at once, each with the image that fits it. With `--pretend`, what other GPUs would get.

mod modules;

use std::error::Error;
use std::process::ExitCode;
use std::sync::Arc;
use std::{env, thread};

use cudarc::driver::result::launch_kernel;
use cudarc::driver::{CudaContext, DevicePtr, DevicePtrMut, LaunchConfig};
use modules::{LoadError, Modules};
use offload::DeviceInfo;

/// The pack, and a function for each kernel, whose arguments the compiler checks.
mod kernels {
    offload::include_kernels!("vector_add");
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

/// Says which image each of these devices would get.
fn pretend(devices: &str) -> Result<(), Box<dyn Error>> {
    for name in devices.split(',') {
        match kernels::PACK.select(&DeviceInfo::parse(name)?) {
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
    let modules = Modules::new(&kernels::PACK);
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
    let function = loaded.module.load_function("vector_add")?;
    let stream = gpu.default_stream();
    let (a, b): (Vec<f32>, Vec<f32>) = (0..LEN).map(|i| (f32::from(i), f32::from(i % 7))).unzip();
    let (a_there, b_there) = (stream.clone_htod(&a)?, stream.clone_htod(&b)?);
    let mut sum = stream.alloc_zeros::<f32>(a.len())?;
    let n = i32::from(LEN);
    {
        // What stands beside an address tells cudarc, when it is dropped, that the memory was used until then.
        let ((a, _a), (b, _b), (sum, _sum)) =
            (a_there.device_ptr(&stream), b_there.device_ptr(&stream), sum.device_ptr_mut(&stream));
        let call = kernels::vector_add(n, a as *const f32, b as *const f32, sum as *mut f32);
        let LaunchConfig { grid_dim, block_dim, shared_mem_bytes } = LaunchConfig::for_num_elems(u32::from(LEN));
        let (function, stream) = (function.cu_function(), stream.cu_stream());
        // SAFETY: it touches the first `n` elements of the three vectors, which is how many each has.
        unsafe { launch_kernel(function, grid_dim, block_dim, shared_mem_bytes, stream, &mut call.pointers()) }?;
    }
    let sum = stream.clone_dtoh(&sum)?;
    let right = (0..a.len()).filter(|&i| sum[i] == a[i] + b[i]).count();
    Ok(format!("{} {}, {right} of {LEN} sums are right", loaded.image.target(), loaded.image.kind()))
}

//! Adds two vectors on the first NVIDIA GPU: four threads, each with a quarter of them, and one module.

mod modules;

use std::error::Error;
use std::process::ExitCode;
use std::sync::Arc;
use std::thread;

use cudarc::driver::result::launch_kernel;
use cudarc::driver::{CudaContext, DevicePtr, DevicePtrMut, LaunchConfig};
use modules::{LoadError, Modules};

/// The pack, and a function for each kernel, whose arguments the compiler checks.
mod kernels {
    offload::include_kernels!("vector_add");
}

const THREADS: usize = 4;
const LEN: usize = 1 << 20;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn Error>> {
    let gpu = modules::gpu(0)?;
    let modules = Modules::new(&kernels::PACK);

    // Small whole numbers: their sums are exact.
    let a: Vec<f32> = (1..=1009_u16).map(f32::from).cycle().take(LEN).collect();
    let b: Vec<f32> = (0..1000_u16).map(f32::from).cycle().take(LEN).collect();
    let mut sum = vec![0.0; LEN];
    let part = LEN / THREADS;
    thread::scope(|scope| {
        let parts = a.chunks(part).zip(b.chunks(part)).zip(sum.chunks_mut(part));
        let threads: Vec<_> = parts.map(|((a, b), sum)| scope.spawn(|| add(&modules, &gpu, a, b, sum))).collect();
        threads.into_iter().try_for_each(|thread| thread.join().expect("`add` does not panic"))
    })?;

    let image = modules.on(&gpu)?.image;
    if let Some(i) = (0..LEN).find(|&i| sum[i] != a[i] + b[i]) {
        return Err(format!("wrong result: element {i} is {}, not {}", sum[i], a[i] + b[i]).into());
    }
    println!("{}: the {} {} computed {LEN} sums, all right.", gpu.name()?, image.target(), image.kind());
    Ok(())
}

/// sum = a + b, on the GPU.
fn add(modules: &Modules, gpu: &Arc<CudaContext>, a: &[f32], b: &[f32], sum: &mut [f32]) -> Result<(), LoadError> {
    let function = modules.on(gpu)?.module.load_function("vector_add")?;
    let stream = gpu.default_stream();
    let (a, b) = (stream.clone_htod(a)?, stream.clone_htod(b)?);
    let mut result = stream.alloc_zeros::<f32>(sum.len())?;
    let threads = u32::try_from(sum.len()).expect("it is a part of LEN");
    let n = threads.cast_signed();
    {
        // What stands beside an address tells cudarc, when it is dropped, that the memory was used until then.
        let ((a, _a), (b, _b), (result, _result)) =
            (a.device_ptr(&stream), b.device_ptr(&stream), result.device_ptr_mut(&stream));
        let call = kernels::vector_add(n, a as *const f32, b as *const f32, result as *mut f32);
        let LaunchConfig { grid_dim, block_dim, shared_mem_bytes } = LaunchConfig::for_num_elems(threads);
        let (function, stream) = (function.cu_function(), stream.cu_stream());
        // SAFETY: it touches the first `n` elements of `a`, `b` and `result`, which is how many each has.
        unsafe { launch_kernel(function, grid_dim, block_dim, shared_mem_bytes, stream, &mut call.pointers()) }?;
    }
    stream.memcpy_dtoh(&result, sum)?;
    Ok(())
}

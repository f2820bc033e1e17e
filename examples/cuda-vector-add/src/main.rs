//! Adds two vectors on the first NVIDIA GPU, in a program that uses cudarc's context, stream and
//! memory. Each of four threads adds a quarter of the vectors, and all threads share one module.

use std::error::Error;
use std::process::ExitCode;
use std::sync::Arc;
use std::thread;

use cudarc::driver::CudaContext;
use offload_gpu::run::{Device, Launch};

/// The embedded pack, and a function for each kernel. The compiler checks the functions' arguments.
mod kernels {
    offload_gpu::include_kernels!("vector_add");
}

const THREADS: usize = 4;
const LEN: usize = 1 << 20;
const BLOCK: u32 = 256;

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
    // Without a driver, any call to cudarc would panic. `Device::named` returns an error instead,
    // which lists the places that were searched for the driver.
    Device::named("cuda:0")?;
    let context = CudaContext::new(0)?;
    // SAFETY: cudarc keeps the context as long as `context` lives, and `context` outlives the
    // device.
    let gpu = unsafe { Device::from_cuda_context(context.cu_ctx().cast())? };

    // The elements are small integers, so their sums are exact.
    let a: Vec<f32> = (1..=1009_u16).map(f32::from).cycle().take(LEN).collect();
    let b: Vec<f32> = (0..1000_u16).map(f32::from).cycle().take(LEN).collect();
    let mut sum = vec![0.0; LEN];
    let part = LEN / THREADS;
    thread::scope(|scope| {
        let parts = a.chunks(part).zip(b.chunks(part)).zip(sum.chunks_mut(part));
        let add = |((a, b), sum)| add(&context, &gpu, a, b, sum).map_err(|error| error.to_string());
        let threads: Vec<_> = parts.map(|part| scope.spawn(move || add(part))).collect();
        threads.into_iter().try_for_each(|thread| thread.join().expect("`add` does not panic"))
    })?;

    if let Some(i) = (0..LEN).find(|&i| sum[i] != a[i] + b[i]) {
        return Err(format!("wrong result: element {i} is {}, not {}", sum[i], a[i] + b[i]).into());
    }
    let image = kernels::PACK.on(&gpu)?.image();
    println!(
        "{}: the {} {} computed {LEN} sums, all right.",
        gpu.product(),
        image.target(),
        image.kind()
    );
    Ok(())
}

/// Computes sum = a + b on the GPU.
fn add(
    context: &Arc<CudaContext>,
    gpu: &Device,
    a: &[f32],
    b: &[f32],
    sum: &mut [f32],
) -> Result<(), Box<dyn Error>> {
    let stream = context.default_stream();
    let (a, b) = (stream.clone_htod(a)?, stream.clone_htod(b)?);
    let mut result = stream.alloc_zeros::<f32>(sum.len())?;
    let threads = u32::try_from(sum.len()).expect("it is a part of LEN");
    let launch = Launch::new(threads.div_ceil(BLOCK), BLOCK).stream(stream.cu_stream().cast());
    let call = kernels::vector_add(threads.cast_signed(), &a, &b, &mut result);
    // SAFETY: the kernel accesses only the first `n` elements of `a`, `b` and `result`, and each
    // has `n` elements.
    unsafe { call.launch_as(gpu, &launch)? };
    stream.memcpy_dtoh(&result, sum)?;
    Ok(())
}

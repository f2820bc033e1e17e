//! A program in which cudarc creates the context, the stream and the memory. `offload_gpu::run`
//! loads modules and launches kernels.

use cudarc::driver::{CudaContext, CudaSlice, CudaStream, DevicePtr, DevicePtrMut};
use offload_gpu::run::{Device, Launch, devices};
use std::error::Error;
use std::process::ExitCode;
use std::sync::Arc;
use std::{env, thread};

mod kernels {
    offload_gpu::include_kernels!("math");
}

type Result<T = ()> = std::result::Result<T, Box<dyn Error>>;

fn main() -> ExitCode {
    let command = env::args().nth(1).unwrap();
    let result = match &*command {
        "primary" => primary(),
        "threads" => threads(),
        "own" => own(),
        "again" => again(),
        "outlived" => outlived(),
        "null" => null(),
        other => Err(format!("no such command: {other}").into()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn device(context: &CudaContext) -> Result<Device> {
    // SAFETY: each caller drops the device before the context, or explains why it does not.
    Ok(unsafe { Device::from_cuda_context(context.cu_ctx().cast())? })
}

/// Returns the number of correct elements out of 1000.
fn saxpy(device: &Device, stream: &Arc<CudaStream>) -> Result<usize> {
    let numbers: Vec<f32> = (0..1000_u16).map(f32::from).collect();
    let x: CudaSlice<f32> = stream.clone_htod(&numbers)?;
    let mut y: CudaSlice<f32> = stream.alloc_zeros(1000)?;
    {
        let ((x, _x), (y, _y)) = (x.device_ptr(stream), y.device_ptr_mut(stream));
        let call = kernels::saxpy(1000, 3.0, x as *const f32, y as *mut f32);
        let launch = Launch::new(4, 256).stream(stream.cu_stream().cast());
        // SAFETY: the kernel accesses the first 1000 elements of `x` and `y`, and each has 1000.
        unsafe { call.launch_as(device, &launch)? };
    }
    let y = stream.clone_dtoh(&y)?;
    Ok(numbers.iter().zip(y).filter(|(x, y)| *x * 3.0 == *y).count())
}

/// Uses the primary context, which all libraries share, so the device equals the one in the list.
fn primary() -> Result {
    let context = CudaContext::new(1)?;
    let device = device(&context)?;
    println!("{device}: {} of 1000", saxpy(&device, &context.new_stream()?)?);
    println!("{device}: {} of 1000", saxpy(&device, &context.default_stream())?);
    let listed = devices().list()[1].clone();
    println!("{listed}: {} of 1000", saxpy(&listed, &context.default_stream())?);
    // The device itself retains the context, so the device stays usable.
    drop(context);
    let buffer = device.buffer(&[1.0_f32, 2.0])?;
    println!("{:?}", buffer.to_vec()?);
    Ok(())
}

/// Uses two devices. Some threads have no current context. On others, the other GPU's context is
/// current.
fn threads() -> Result {
    let contexts = [CudaContext::new(0)?, CudaContext::new(1)?];
    let borrowed = [device(&contexts[0])?, device(&contexts[1])?];
    thread::scope(|scope| {
        let work = |number: usize| {
            if number >= 2 {
                contexts[1 - number % 2].bind_to_thread().unwrap();
            }
            let device = &borrowed[number % 2];
            let buffer = device.buffer(&[number as f32; 10]).unwrap();
            assert_eq!(buffer.to_vec().unwrap(), [number as f32; 10]);
            saxpy(device, &contexts[number % 2].default_stream()).map_err(|error| error.to_string())
        };
        let started: Vec<_> = (0..8).map(|number| scope.spawn(move || work(number))).collect();
        started.into_iter().for_each(|thread| println!("{:?}", thread.join().unwrap()));
    });
    Ok(())
}

/// Uses the program's own context in addition to the primary context. The module is loaded once for
/// each of the two contexts.
fn own() -> Result {
    let context = CudaContext::new_non_primary(0, 0)?;
    let own = device(&context)?;
    let same = device(&context)?;
    println!("{}", saxpy(&own, &context.new_stream()?)?);
    println!("{}", saxpy(&same, &context.default_stream())?);
    let primary = Device::named("cuda:0")?;
    // `primary` uses the primary context. The stream and the memory that cudarc creates belong to
    // the program's own context.
    for device in [&own, &primary] {
        println!("{}", device.buffer(&[1.0_f32])?.to_vec()?[0]);
    }
    kernels::PACK.on(&primary)?;
    println!("{}", saxpy(&own, &context.default_stream())?);
    drop((own, same, primary));
    Ok(())
}

/// Creates three contexts, each after the previous one was destroyed, and prints whether all of
/// them have the same address.
fn again() -> Result {
    let mut handles = Vec::new();
    for _ in 0..3 {
        let context = CudaContext::new_non_primary(0, 0)?;
        handles.push(context.cu_ctx());
        let device = device(&context)?;
        println!("{}", saxpy(&device, &context.default_stream())?);
    }
    println!("{}", handles.windows(2).all(|pair| pair[0] == pair[1]));
    Ok(())
}

/// Drops a device and a buffer after their context was destroyed. At this time, a second context
/// has the destroyed context's address.
fn outlived() -> Result {
    let first = CudaContext::new_non_primary(0, 0)?;
    let handle = first.cu_ctx();
    let device_of_first = device(&first)?;
    println!("{}", saxpy(&device_of_first, &first.default_stream())?);
    let buffer = device_of_first.buffer(&[1.0_f32; 100])?;
    drop(first);
    let second = CudaContext::new_non_primary(0, 0)?;
    println!("{}", handle == second.cu_ctx());
    let device_of_second = device(&second)?;
    println!("{}", saxpy(&device_of_second, &second.default_stream())?);
    drop((buffer, device_of_first));
    println!("{}", saxpy(&device_of_second, &second.default_stream())?);
    Ok(())
}

fn null() -> Result {
    // SAFETY: a null context causes an error, and is never used.
    unsafe { Device::from_cuda_context(std::ptr::null_mut()) }?;
    Ok(())
}

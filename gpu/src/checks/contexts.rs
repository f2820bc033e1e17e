//! Uses cudarc's contexts, streams and memory together with offload-gpu.

use super::readme::kernels;
use crate::report::{Result, Run, compare};
use cudarc::driver::{CudaContext, CudaSlice, CudaStream, DevicePtr, DevicePtrMut};
use offload_gpu::run::{Device, Launch};
use std::sync::Arc;

pub fn run(run: &mut Run) -> Result<String> {
    let device = run.device.clone();
    let ordinal = usize::try_from(device.ordinal())?;
    run.attempt("the primary context", || primary(ordinal, &device));
    run.attempt("a context of its own", || own(ordinal));
    run.attempt("contexts one after the other", || (0..3).try_for_each(|_| own(ordinal)));
    run.attempt("a device that outlives its context", || outlived(ordinal));
    super::readme::saxpy(&device, 1000)?;
    Ok("cudarc's primary context, its own contexts, streams and memory".to_owned())
}

fn device(context: &CudaContext) -> Result<Device> {
    // SAFETY: each function in this file drops the device before the context, or states why not.
    Ok(unsafe { Device::from_cuda_context(context.cu_ctx().cast())? })
}

fn saxpy(device: &Device, stream: &Arc<CudaStream>) -> Result {
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
    let expected: Vec<f32> = numbers.iter().map(|x| 3.0 * x).collect();
    compare("y", &stream.clone_dtoh(&y)?, &expected)
}

fn primary(ordinal: usize, listed: &Device) -> Result {
    let context = CudaContext::new(ordinal)?;
    let device = device(&context)?;
    saxpy(&device, &context.new_stream()?)?;
    saxpy(&device, &context.default_stream())?;
    saxpy(listed, &context.default_stream())?;
    // The device has retained the context itself, so it stays usable.
    drop(context);
    compare("a buffer", &device.buffer(&[1.0_f32, 2.0])?.to_vec()?, &[1.0, 2.0])
}

fn own(ordinal: usize) -> Result {
    let context = CudaContext::new_non_primary(ordinal, 0)?;
    let own = device(&context)?;
    saxpy(&own, &context.new_stream()?)?;
    saxpy(&own, &context.default_stream())
}

/// Drops a device after its context, which a CUDA 12 driver allows.
fn outlived(ordinal: usize) -> Result {
    let context = CudaContext::new_non_primary(ordinal, 0)?;
    let own = device(&context)?;
    saxpy(&own, &context.default_stream())?;
    drop(context);
    drop(own);
    Ok(())
}

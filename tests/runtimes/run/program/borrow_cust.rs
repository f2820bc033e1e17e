//! A program in which cust creates the context, the stream and the memory. `offload_gpu::run` loads
//! modules and launches kernels.

use cust::memory::{CopyDestination, DeviceBuffer};
use cust::stream::{Stream, StreamFlags};
use offload_gpu::run::{Device, Launch};
use std::error::Error;

mod kernels {
    offload_gpu::include_kernels!("math");
}

// The `Buffer` type from the guide.
include!("buffer.rs");

fn main() -> Result<(), Box<dyn Error>> {
    let context = cust::quick_init()?;
    // SAFETY: the context lives until the end.
    let device = unsafe { Device::from_cuda_context(context.as_raw().cast())? };
    let (x, mut y) = (
        Buffer(DeviceBuffer::from_slice(&[1.0; 256])?),
        Buffer(DeviceBuffer::from_slice(&[2.0; 256])?),
    );
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
    let launch = Launch::new(1, 256).stream(stream.as_inner().cast());
    // SAFETY: the kernel accesses 256 elements of `x` and of `y`, and each has 256.
    unsafe { kernels::saxpy(256, 3.0, &x, &mut y).launch_as(&device, &launch)? };
    stream.synchronize()?;
    let mut sums = [0.0_f32; 256];
    y.0.copy_to(&mut sums)?;
    println!("{device}: {}", sums.iter().filter(|sum| **sum == 5.0).count());
    Ok(())
}

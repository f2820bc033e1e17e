//! A program in which cubecl-hip-sys creates the stream and the memory. `offload_gpu::run` loads
//! modules and launches kernels.

use cubecl_hip_sys as hip;
use offload_gpu::DeviceBuffer;
use offload_gpu::run::{Device, Launch, RunError};
use std::ffi::c_void;
use std::process::ExitCode;
use std::ptr;

mod kernels {
    offload_gpu::include_kernels!("math");
}

/// Memory that was allocated through cubecl-hip-sys.
struct Memory(*mut f32);

impl DeviceBuffer for Memory {
    type Item = f32;

    fn device_address(&self) -> *const f32 {
        self.0
    }
}

impl Memory {
    fn new(values: &[f32]) -> Self {
        let (mut address, size) = (ptr::null_mut::<c_void>(), size_of_val(values));
        // SAFETY: the call writes one pointer; source and destination have the same number of
        // bytes.
        unsafe {
            assert_eq!(hip::hipMalloc(&mut address, size), hip::HIP_SUCCESS);
            let to_device = hip::hipMemcpyKind_hipMemcpyHostToDevice;
            assert_eq!(
                hip::hipMemcpy(address, values.as_ptr().cast(), size, to_device),
                hip::HIP_SUCCESS
            );
        }
        Self(address.cast())
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: the memory was allocated by `hipMalloc`.
        assert_eq!(unsafe { hip::hipFree(self.0.cast()) }, hip::HIP_SUCCESS);
    }
}

unsafe extern "C" {
    safe fn alarm(seconds: u32) -> u32;
}

fn main() -> ExitCode {
    // The alarm ends the program if the runtime waits for a GPU that does not exist.
    alarm(60);
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), RunError> {
    let device = Device::from_hip_device(0)?;
    let mut stream = ptr::null_mut();
    // SAFETY: the call writes one handle.
    assert_eq!(unsafe { hip::hipStreamCreate(&mut stream) }, hip::HIP_SUCCESS);
    let (x, mut y) = (Memory::new(&[1.0; 256]), Memory::new(&[2.0; 256]));
    println!("{:x} {:x}", x.0.addr(), y.0.addr());
    let launch = Launch::new(1, 256).stream(stream.cast());
    // SAFETY: the kernel accesses 256 elements of `x` and of `y`, and each has 256.
    unsafe { kernels::saxpy(256, 3.0, &x, &mut y).launch_as(&device, &launch)? };
    // The program does not destroy the stream. That call would wait for the stream's queue, but no
    // GPU processes the queue's packets. SAFETY: the stream was created by `hipStreamCreate`.
    assert_eq!(unsafe { hip::hipStreamSynchronize(stream) }, hip::HIP_SUCCESS);
    // Copy through cubecl-hip-sys from a buffer that the run time has allocated.
    let own = device.buffer(&[5.0_f32; 4])?;
    let mut copy = [0.0_f32; 4];
    let to_host = hip::hipMemcpyKind_hipMemcpyDeviceToHost;
    // SAFETY: both buffers have 16 bytes.
    let copied = unsafe {
        hip::hipMemcpy(copy.as_mut_ptr().cast(), own.device_address().cast(), 16, to_host)
    };
    println!("{copied} {copy:?}");
    println!("{device}: {}", kernels::PACK.on(&device)?.image().target());
    Ok(())
}

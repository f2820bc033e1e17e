//! Element-wise functions on vectors. The kernel of each function is in a separate module of one
//! pack. The first call of a function loads the function's module onto the machine's best device,
//! which is a GPU of either vendor or the CPU.

pub mod python;

use std::sync::OnceLock;

use offload_gpu::KernelPack;
use offload_gpu::run::{Buffer, Device, Result, RunError};

/// The embedded pack. Each of its modules has a Rust `mod` with a function for each kernel.
mod kernels {
    offload_gpu::include_kernels!("kernels");
}

/// The embedded pack, with all modules and all their images.
pub static KERNELS: &KernelPack = &kernels::PACK;

/// The number of threads in a block.
const BLOCK: u32 = 256;

/// Computes x = min(x, to) for each element.
pub fn limit(x: &mut [f32], to: f32) -> Result<()> {
    // SAFETY: the kernel accesses only the first `n` elements of `x`, and `x` has `n` elements.
    on_device(x, |device, n, blocks, x| unsafe {
        kernels::limit::limit(n, to, x).launch(device, blocks, BLOCK)
    })
}

/// Computes x = by * x for each element.
pub fn scale(x: &mut [f32], by: f32) -> Result<()> {
    // SAFETY: as above.
    on_device(x, |device, n, blocks, x| unsafe {
        kernels::scale::scale(n, by, x).launch(device, blocks, BLOCK)
    })
}

/// Computes x = x + by for each element.
pub fn shift(x: &mut [f32], by: f32) -> Result<()> {
    // SAFETY: as above.
    on_device(x, |device, n, blocks, x| unsafe {
        kernels::shift::shift(n, by, x).launch(device, blocks, BLOCK)
    })
}

/// Runs a kernel on a copy of `x`, and copies the result back. `run` launches the kernel with
/// enough blocks to give each of the `n` elements a thread.
fn on_device(
    x: &mut [f32],
    run: impl FnOnce(&Device, i32, u32, &mut Buffer<f32>) -> Result<()>,
) -> Result<()> {
    // The first call selects a device, and later calls use the same device. The static keeps the
    // device alive, so the device's modules stay loaded.
    static DEVICE: OnceLock<Device> = OnceLock::new();
    let device = match DEVICE.get() {
        Some(device) => device,
        None => {
            let found = Device::best_for(KERNELS)?;
            DEVICE.get_or_init(|| found)
        }
    };
    if x.is_empty() {
        return Ok(());
    }
    let mut there = device.buffer(x)?;
    let blocks = x.len().div_ceil(BLOCK as usize);
    let n = i32::try_from(x.len()).expect("vectors have fewer than 2^31 elements");
    run(
        device,
        n,
        u32::try_from(blocks).expect("there are fewer blocks than elements"),
        &mut there,
    )?;
    there.download(x)
}

/// The error that a device reports.
pub type Error = RunError;

//! A launch's shape: how many blocks and threads, how much shared memory, and which stream.

use super::error::{Result, RunError};
use crate::call::{BufferDevices, DeviceId};
use alloc::format;
use alloc::string::String;
use core::ffi::c_void;
use core::ptr;
use offload_pack::pack_index::Limits;

/// A number of blocks or threads in each dimension: `256`, `(16, 16)`, `[8, 8, 4]`.
///
/// Source: `gridDim` and `blockDim` of CUDA and HIP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dim(pub [u32; 3]);

impl From<u32> for Dim {
    fn from(x: u32) -> Self {
        Self([x, 1, 1])
    }
}

impl From<(u32, u32)> for Dim {
    fn from((x, y): (u32, u32)) -> Self {
        Self([x, y, 1])
    }
}

impl From<(u32, u32, u32)> for Dim {
    fn from((x, y, z): (u32, u32, u32)) -> Self {
        Self([x, y, z])
    }
}

impl From<[u32; 3]> for Dim {
    fn from(all: [u32; 3]) -> Self {
        Self(all)
    }
}

impl Dim {
    fn product(self) -> u64 {
        let [x, y, z] = self.0.map(u64::from);
        x.saturating_mul(y).saturating_mul(z)
    }
}

/// A device's limits for launches.
#[derive(Debug, Clone, Copy)]
pub(super) struct DeviceLimits {
    pub(super) threads: u64,
    pub(super) block: [u64; 3],
    pub(super) grid: [u64; 3],
    /// The bytes of shared memory that a block may use without a request to the driver.
    pub(super) shared_memory: u64,
    /// The bytes of shared memory that a block may use if the launch requests them from the driver.
    pub(super) shared_memory_on_request: u64,
    /// How many bytes of shared memory the driver reserves in each block, if the size that an image
    /// states for a kernel includes them; otherwise 0.
    pub(super) reserved_shared_memory: u64,
}

/// The shape of a launch: a grid of blocks of threads.
///
/// Source: `cuLaunchKernel` (CUDA driver API) and `hipModuleLaunchKernel` (HIP).
#[derive(Debug, Clone, Copy)]
pub struct Launch {
    pub(super) grid: Dim,
    pub(super) block: Dim,
    pub(super) shared_memory: usize,
    pub(super) stream: *mut c_void,
}

impl Launch {
    /// Creates a launch of `grid` blocks with `block` threads each.
    ///
    /// ```
    /// use offload_gpu::run::Launch;
    ///
    /// let launch = Launch::new((64, 64), (16, 16)).shared_memory(4096);
    /// # let _ = launch;
    /// ```
    pub fn new(grid: impl Into<Dim>, block: impl Into<Dim>) -> Self {
        Self { grid: grid.into(), block: block.into(), shared_memory: 0, stream: ptr::null_mut() }
    }

    /// Gives each block this many bytes of dynamic shared memory (`extern __shared__`), in addition
    /// to the memory that the kernel declares. If the driver allows that much only on request, the
    /// launch requests it.
    pub fn shared_memory(self, bytes: usize) -> Self {
        Self { shared_memory: bytes, ..self }
    }

    /// Launches on this stream instead of the default stream: a `CUstream`, `hipStream_t` or
    /// `cl_command_queue` of the device. The CPU has no streams.
    ///
    /// [`Device::synchronize`](super::Device::synchronize) waits for streams, but not for command
    /// queues: call `clFinish` on these.
    pub fn stream(self, stream: *mut c_void) -> Self {
        Self { stream, ..self }
    }

    /// Returns an error if a buffer is on a different device, or if the launch exceeds the limits
    /// of the image or of the device.
    pub(super) fn check(
        &self,
        kernel: &str,
        image: &str,
        limits: &Limits,
        device: &DeviceLimits,
        buffers: &BufferDevices,
        id: DeviceId,
    ) -> Result<()> {
        match self.problem(image, limits, device, buffers.elsewhere(id)) {
            None => Ok(()),
            Some(problem) => Err(RunError::refused(format!("launch {kernel}"), problem)),
        }
    }

    fn problem(
        &self,
        image: &str,
        limits: &Limits,
        device: &DeviceLimits,
        elsewhere: Option<(usize, DeviceId)>,
    ) -> Option<String> {
        let (block, grid, threads) =
            (self.block.0.map(u64::from), self.grid.0.map(u64::from), self.block.product());
        if let Some((argument, of_buffer)) = elsewhere {
            return Some(format!(
                "argument {argument} is a buffer on a different device, {of_buffer}. Copy its \
                 values to a buffer on this device, or pass its `device_address()` if this device \
                 can access that memory"
            ));
        }
        if threads == 0 || self.grid.product() == 0 {
            return Some(format!(
                "the grid is empty: {} blocks of {} threads",
                text(grid),
                text(block)
            ));
        }
        if let Some(required) = limits.required_block
            && required != block
        {
            let (block, required) = (text(block), text(required));
            return Some(format!(
                "the block has {block} threads, but the image for {image} is compiled for blocks of {required}"
            ));
        }
        if let Some(most) = limits.max_threads.filter(|most| threads > *most) {
            return Some(format!(
                "the block has {threads} threads, but the image for {image} allows at most {most}"
            ));
        }
        if threads > device.threads {
            return Some(format!(
                "the block has {threads} threads, but the device allows at most {}",
                device.threads
            ));
        }
        let dimensions = ["x", "y", "z"];
        for (what, asked, most) in [("block", block, device.block), ("grid", grid, device.grid)] {
            if let Some(at) = (0..3).find(|&at| asked[at] > most[at]) {
                let (of, in_dimension, most) = (text(asked), dimensions[at], most[at]);
                return Some(format!(
                    "the {what} is {of}, but the device allows at most {most} in dimension {in_dimension}"
                ));
            }
        }
        let fixed = limits.shared_memory.unwrap_or(0).saturating_sub(device.reserved_shared_memory);
        let shared = fixed.saturating_add(self.shared_memory as u64);
        let most = device.shared_memory_on_request.max(device.shared_memory);
        (shared > most).then(|| {
            let asked = self.shared_memory;
            format!(
                "it needs {shared} bytes of shared memory ({fixed} static, {asked} dynamic), but the device has {most}"
            )
        })
    }
}

/// Formats a size: `16 x 16`, or just the number for one dimension.
fn text([x, y, z]: [u64; 3]) -> String {
    match (y, z) {
        (1, 1) => format!("{x}"),
        (_, 1) => format!("{x} x {y}"),
        _ => format!("{x} x {y} x {z}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEVICE: DeviceLimits = DeviceLimits {
        threads: 1024,
        block: [1024, 1024, 64],
        grid: [2_147_483_647, 65_535, 65_535],
        shared_memory: 49_152,
        shared_memory_on_request: 101_376,
        reserved_shared_memory: 0,
    };

    const IMAGE: Limits = Limits::UNKNOWN.with_max_threads(256).with_shared_memory(1024);

    fn problem(launch: Launch, limits: Limits) -> Option<String> {
        launch.problem("sm_80", &limits, &DEVICE, None)
    }

    #[test]
    fn what_is_allowed_is_allowed() {
        assert_eq!(problem(Launch::new(1_000_000, 256).shared_memory(100_352), IMAGE), None);
        assert_eq!(problem(Launch::new((3, 65_535), (16, 16)), IMAGE), None);
        assert_eq!(problem(Launch::new(1, (8, 4)), IMAGE.with_required_block([8, 4, 1])), None);
    }

    #[test]
    fn what_the_driver_has_is_not_the_kernels() {
        let device = DeviceLimits { reserved_shared_memory: 1024, ..DEVICE };
        let launch =
            |bytes| Launch::new(1, 32).shared_memory(bytes).problem("sm_90", &IMAGE, &device, None);
        assert_eq!(launch(101_376), None);
        let expected = "it needs 101377 bytes of shared memory (0 static, 101377 dynamic), but the device has 101376";
        assert_eq!(launch(101_377).as_deref(), Some(expected));
    }

    #[test]
    fn what_is_too_much_is_named() {
        let any = Limits::UNKNOWN.with_shared_memory(1024);
        for (launch, limits, expected) in [
            (
                Launch::new(1, 2048),
                IMAGE,
                "the block has 2048 threads, but the image for sm_80 allows at most 256",
            ),
            (
                Launch::new(1, 2048),
                any,
                "the block has 2048 threads, but the device allows at most 1024",
            ),
            (
                Launch::new(1, [1, 1, 65]),
                any,
                "the block is 1 x 1 x 65, but the device allows at most 64 in dimension z",
            ),
            (
                Launch::new((1, 65_536), 1),
                any,
                "the grid is 1 x 65536, but the device allows at most 65535 in dimension y",
            ),
            (Launch::new(0, 1), any, "the grid is empty: 0 blocks of 1 threads"),
            (
                Launch::new(1, 1).shared_memory(101_376),
                any,
                "it needs 102400 bytes of shared memory (1024 static, 101376 dynamic), but the device has 101376",
            ),
            (
                Launch::new(1, 32),
                any.with_required_block([8, 4, 1]),
                "the block has 32 threads, but the image for sm_80 is compiled for blocks of 8 x 4",
            ),
        ] {
            assert_eq!(problem(launch, limits).as_deref(), Some(expected));
        }
    }
}

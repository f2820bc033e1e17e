//! The kinds of devices, by their drivers.

use core::fmt;

/// The kind of a device, by its driver.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DeviceKind {
    /// NVIDIA's GPUs, through the CUDA driver.
    Cuda,
    /// AMD's GPUs, through the HIP runtime.
    Hip,
    /// The CPU, on which this program itself runs kernels.
    Cpu,
}

impl fmt::Display for DeviceKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            DeviceKind::Cuda => "cuda",
            DeviceKind::Hip => "hip",
            DeviceKind::Cpu => "cpu",
        })
    }
}

//! The kinds of devices, by their drivers.

use core::fmt;

/// The kind of a device, by its driver.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DeviceKind {
    /// NVIDIA's driver.
    Cuda,
    /// AMD's HIP runtime.
    Hip,
    /// This program.
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

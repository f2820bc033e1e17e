//! The devices of a call's buffers, with the `run` feature.

#[cfg(feature = "cudarc")]
use super::BufferEvent;
use core::fmt;
use offload_format::target::Vendor;

/// The device of a [`DeviceBuffer`](crate::DeviceBuffer)'s memory, if the buffer knows it. A launch
/// on a different device is an error.
///
/// A type that wraps a buffer returns the buffer's [`device_id`](crate::DeviceBuffer::device_id).
/// This type needs the `run` feature.
///
/// Source: `cuCtxEnablePeerAccess` (CUDA driver API) and `hipDeviceEnablePeerAccess` (HIP). A
/// kernel can use memory on a different device only after one of these calls.
#[derive(Debug, Clone, Copy)]
pub struct DeviceId(
    /// The upper half is the vendor's number, counted from 1, and the lower half is the device's
    /// number. The value is 0 if the device is unknown. rustc compiles less code for a single
    /// number.
    u64,
);

impl DeviceId {
    /// An unknown device.
    pub const UNKNOWN: Self = Self(0);

    /// Returns the vendor's device with this number.
    pub(crate) fn new(vendor: Vendor, ordinal: i32) -> Self {
        Self((vendor as u64 + 1) << 32 | ordinal as u64)
    }
}

/// Prints the name of the device: `cuda:0`, `cpu`.
impl fmt::Display for DeviceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = (self.0 >> 32).wrapping_sub(1) as usize;
        let Some(vendor) = Vendor::ALL.get(number) else { return f.write_str("unknown") };
        let driver = vendor.driver();
        if vendor.is_gpu() { write!(f, "{driver}:{}", self.0 as u32) } else { f.write_str(driver) }
    }
}

/// The first buffer of a call, and the next buffer on a different device, each with the number of
/// its argument. A launch uses one device, as in CUDA and HIP, so two buffers are enough to find an
/// error.
#[derive(Debug, Clone, Copy)]
pub struct BufferDevices {
    first: (usize, DeviceId),
    different: (usize, DeviceId),
    /// The cudarc event of the last buffer that was passed.
    #[cfg(feature = "cudarc")]
    pub(super) event: Option<BufferEvent>,
}

impl BufferDevices {
    /// No buffers.
    pub(crate) const NONE: Self = Self {
        first: (0, DeviceId::UNKNOWN),
        different: (0, DeviceId::UNKNOWN),
        #[cfg(feature = "cudarc")]
        event: None,
    };

    /// Adds an argument's device, if it is known.
    pub(super) fn add(&mut self, argument: usize, device: DeviceId) {
        if device.0 == 0 {
            return;
        }
        if self.first.1.0 == 0 {
            self.first = (argument, device);
        } else if self.first.1.0 != device.0 && self.different.1.0 == 0 {
            self.different = (argument, device);
        }
    }

    /// Returns a buffer on a different device than `device`: its argument's number, from 1, and its
    /// device.
    pub(crate) fn elsewhere(&self, device: DeviceId) -> Option<(usize, DeviceId)> {
        let found = if self.first.1.0 == device.0 { self.different } else { self.first };
        if found.1.0 == 0 { None } else { Some((found.0 + 1, found.1)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn a_buffer_elsewhere_is_found() {
        let [vendor, .., last] = Vendor::ALL;
        let [none, gpu, second, cpu] = [
            DeviceId::UNKNOWN,
            DeviceId::new(vendor, 0),
            DeviceId::new(vendor, 1),
            DeviceId::new(last, 0),
        ];
        let found = |devices: &[DeviceId], launched_on| {
            let mut all = BufferDevices::NONE;
            devices.iter().enumerate().for_each(|(at, device)| all.add(at, *device));
            all.elsewhere(launched_on).map(|(argument, device)| (argument, device.0))
        };
        let is = |argument, device: DeviceId| Some((argument, device.0));
        assert_eq!(found(&[], gpu), None);
        assert_eq!(found(&[none, gpu, none, gpu], gpu), None);
        assert_eq!(found(&[none, gpu, none, gpu], second), is(2, gpu));
        assert_eq!(found(&[gpu, gpu, second], gpu), is(3, second));
        assert_eq!(found(&[gpu, gpu, second], second), is(1, gpu));
        assert_eq!(found(&[gpu, second, cpu], gpu), is(2, second));
        assert_eq!(found(&[cpu, second, cpu], cpu), is(2, second));
        assert_eq!(found(&[cpu], gpu), is(1, cpu));
    }

    #[test]
    fn devices_have_the_names_of_their_drivers() {
        let names = Vendor::ALL.map(|vendor| DeviceId::new(vendor, 7).to_string());
        assert_eq!(names, ["hip:7", "cuda:7", "opencl:7", "cpu"]);
        assert_eq!(DeviceId::UNKNOWN.to_string(), "unknown");
    }
}

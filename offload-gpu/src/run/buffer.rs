//! Memory on a device.

use super::backend::Handle;
use super::device::Device;
use super::error::{Result, RunError};
use crate::call::DeviceBuffer;
use alloc::format;
use alloc::string::ToString;
use alloc::vec::Vec;
use bytemuck::Pod;
use core::fmt;
use core::marker::PhantomData;
use core::mem::ManuallyDrop;
use core::ptr;

/// An array of plain data in a device's memory: numbers, and structs of numbers that are [`Pod`].
/// Dropping the buffer frees the memory on its device.
///
/// Pass a reference to a buffer for a pointer of a kernel: `&x` if the kernel only reads, `&mut y`
/// if it writes.
///
/// ```
/// use offload_gpu::run::Device;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let device = Device::cpu();
/// let mut x = device.buffer(&[1.0_f32, 2.0, 3.0])?;
/// x.upload(&[4.0, 5.0, 6.0])?;
/// assert_eq!(x.to_vec()?, [4.0, 5.0, 6.0]);
/// # Ok(())
/// # }
/// ```
///
/// Source: `cuMemAlloc_v2` (CUDA driver API) and `hipMalloc` (HIP).
pub struct Buffer<T: Pod> {
    device: Device,
    /// `None` if the size is 0, since drivers cannot allocate 0 bytes.
    memory: Option<Handle>,
    len: usize,
    of: PhantomData<T>,
}

impl Device {
    /// Allocates memory on this device and copies these values to it.
    ///
    /// Returns an error if the device has not enough memory, or if it fails.
    pub fn buffer<T: Pod>(&self, values: &[T]) -> Result<Buffer<T>> {
        let mut buffer = self.uninit(values.len())?;
        buffer.upload(values)?;
        Ok(buffer)
    }

    /// Allocates memory on this device for `len` values, with all bytes 0.
    ///
    /// Returns an error if the device has not enough memory, or if it fails.
    pub fn zeros<T: Pod>(&self, len: usize) -> Result<Buffer<T>> {
        let mut buffer = self.uninit(len)?;
        let zeros = bytemuck::allocation::try_zeroed_slice_box(len).map_err(|()| {
            RunError::refused(format!("allocate {len} values"), "the host has not as much memory")
        })?;
        buffer.upload(&zeros)?;
        Ok(buffer)
    }

    fn uninit<T: Pod>(&self, len: usize) -> Result<Buffer<T>> {
        let size = len.checked_mul(size_of::<T>()).ok_or_else(|| {
            RunError::refused(
                format!("allocate {len} values"),
                "they have more bytes than there are addresses",
            )
            .on(|| self.to_string())
        })?;
        let memory = match size {
            0 => None,
            _ => {
                Some(self.0.backend.allocate(size).map_err(|error| error.on(|| self.to_string()))?)
            }
        };
        Ok(Buffer { device: self.clone(), memory, len, of: PhantomData })
    }
}

impl<T: Pod> Buffer<T> {
    /// Returns the number of values.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether the buffer has no values.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the device that the memory is on.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Copies these values to the device, after earlier launches on its default stream.
    ///
    /// Returns an error if the device fails, or if an earlier kernel failed.
    ///
    /// # Panics
    /// Panics if the number of values differs from the buffer's length.
    pub fn upload(&mut self, values: &[T]) -> Result<()> {
        assert_eq!(values.len(), self.len, "values and buffer are of different lengths");
        let Some(memory) = self.memory else { return Ok(()) };
        // SAFETY: the buffer has as many bytes as the values, whose number was compared.
        let copied = unsafe { self.device.0.backend.upload(memory, bytemuck::cast_slice(values)) };
        copied.map_err(|error| error.on(|| self.device.to_string()))
    }

    /// Copies the values from the device, after earlier launches on its default stream.
    ///
    /// Returns an error if the device fails, or if an earlier kernel failed.
    ///
    /// # Panics
    /// Panics if the length of `into` differs from the buffer's length.
    pub fn download(&self, into: &mut [T]) -> Result<()> {
        assert_eq!(into.len(), self.len, "values and buffer are of different lengths");
        let Some(memory) = self.memory else { return Ok(()) };
        let into: &mut [u8] = bytemuck::cast_slice_mut(into);
        // SAFETY: the buffer has as many bytes as the values, whose number was compared. The type
        // is `Pod`, so any bytes are valid values.
        let copied =
            unsafe { self.device.0.backend.download(into.as_mut_ptr(), memory, into.len()) };
        copied.map_err(|error| error.on(|| self.device.to_string()))
    }

    /// Copies the values from the device to a new vector, as [`Buffer::download`] does.
    pub fn to_vec(&self) -> Result<Vec<T>> {
        let mut values = bytemuck::allocation::zeroed_vec(self.len);
        self.download(&mut values)?;
        Ok(values)
    }

    /// Returns the address and gives up the ownership of the memory, for callers that free it by
    /// other means. The address is null if the buffer has no bytes.
    pub fn into_raw(self) -> *mut T {
        let this = ManuallyDrop::new(self);
        // SAFETY: the device is read once, and `this` is not dropped.
        drop(unsafe { ptr::read(&this.device) });
        this.address()
    }

    fn address(&self) -> *mut T {
        self.memory.map_or(ptr::null_mut(), |memory| memory.0.cast())
    }
}

impl<T: Pod> DeviceBuffer for Buffer<T> {
    type Item = T;

    fn device_address(&self) -> *const T {
        self.address()
    }
}

impl<T: Pod> Drop for Buffer<T> {
    fn drop(&mut self) {
        if let Some(memory) = self.memory {
            // SAFETY: the memory was allocated for this buffer, and only this buffer frees it. If
            // kernels still use it, the caller of their launch is responsible.
            unsafe { self.device.0.backend.free(memory) };
        }
    }
}

impl<T: Pod> fmt::Debug for Buffer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Buffer")
            .field("device", &self.device.name())
            .field("len", &self.len)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::{Loaded, RunError};

    #[test]
    fn threads_may_share_devices_and_memory() {
        fn shared<T: Send + Sync>() {}
        shared::<Device>();
        shared::<Loaded>();
        shared::<Buffer<f32>>();
        shared::<RunError>();
    }

    #[test]
    fn memory_of_no_bytes_is_none() {
        let mut empty = Device::cpu().buffer::<u64>(&[]).unwrap();
        empty.upload(&[]).unwrap();
        assert_eq!((empty.to_vec().unwrap().len(), empty.device_address().is_null()), (0, true));
    }
}

//! Memory on a device.

use super::backend::Handle;
use super::device::Device;
use super::error::{Result, RunError};
use crate::call::{DeviceBuffer, DeviceId};
use alloc::format;
use alloc::string::ToString;
use alloc::vec::Vec;
use bytemuck::Pod;
use core::fmt;
use core::marker::PhantomData;
use core::mem::MaybeUninit;
use core::{ptr, slice};

/// An array of plain data in a device's memory: numbers, structs of numbers that are [`Pod`], and
/// the structs of [`include_kernels!`](crate::include_kernels). Dropping the buffer frees the
/// memory on its device.
///
/// For a kernel's pointer parameter, pass a reference to a buffer: `&x` if the kernel only reads,
/// `&mut y` if it writes. A launch on a different device is an error. If the program has made the
/// memory accessible to that device, pass [`device_address`](DeviceBuffer::device_address) instead.
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
pub struct Buffer<T: BufferItem> {
    device: Device,
    /// `None` for an empty buffer, since drivers cannot allocate 0 bytes.
    memory: Option<Handle>,
    len: usize,
    of: PhantomData<T>,
}

/// A type that a [`Buffer`] can hold.
///
/// All [`Pod`] types qualify: numbers, arrays of numbers, and structs without padding that derive
/// `Pod`. So do the structs that [`include_kernels!`](crate::include_kernels) declares, even with
/// padding or addresses. A buffer copies all bytes of a value; padding bytes have no defined value
/// after a copy.
///
/// # Safety
/// Any initialized bytes are a valid value of the type, including zeros and bytes that a kernel
/// wrote. Only padding may be uninitialized.
#[diagnostic::on_unimplemented(
    message = "a buffer cannot hold values of `{Self}`",
    label = "not plain data",
    note = "numbers, types that are `bytemuck::Pod`, and the structs of `include_kernels!` are plain data"
)]
pub unsafe trait BufferItem: Copy + 'static {}

// SAFETY: `Pod` has stricter requirements.
#[diagnostic::do_not_recommend]
unsafe impl<T: Pod> BufferItem for T {}

impl Device {
    /// Allocates memory on this device and copies these values to it.
    ///
    /// Returns an error if the device does not have enough memory, or if the device fails.
    pub fn buffer<T: BufferItem>(&self, values: &[T]) -> Result<Buffer<T>> {
        let mut buffer = self.uninit(values.len())?;
        buffer.upload(values)?;
        Ok(buffer)
    }

    /// Allocates zeroed memory on this device for `len` values.
    ///
    /// Returns an error if the device does not have enough memory, or if the device fails.
    pub fn zeros<T: BufferItem>(&self, len: usize) -> Result<Buffer<T>> {
        let mut buffer: Buffer<T> = self.uninit(len)?;
        let bytes = len * size_of::<T>();
        let zeros = bytemuck::allocation::try_zeroed_slice_box::<u8>(bytes).map_err(|()| {
            RunError::refused(
                format!("allocate {len} values"),
                "the host does not have enough memory",
            )
        })?;
        // SAFETY: there are as many zeros as the buffer has bytes.
        unsafe { buffer.upload_from(zeros.as_ptr().cast())? };
        Ok(buffer)
    }

    fn uninit<T: BufferItem>(&self, len: usize) -> Result<Buffer<T>> {
        let size = len.checked_mul(size_of::<T>()).ok_or_else(|| {
            RunError::refused(
                format!("allocate {len} values"),
                "their size in bytes overflows `usize`",
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

impl<T: BufferItem> Buffer<T> {
    /// Returns the number of values.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether the buffer is empty.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the buffer's device.
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
        assert_eq!(values.len(), self.len, "the number of values differs from the buffer's length");
        // SAFETY: `values` is as large as the buffer, as just asserted.
        unsafe { self.upload_from(values.as_ptr().cast()) }
    }

    /// Copies the buffer's bytes from this address.
    ///
    /// # Safety
    /// `from` is valid for reads of as many bytes as the buffer has.
    unsafe fn upload_from(&mut self, from: *const MaybeUninit<u8>) -> Result<()> {
        let Some(memory) = self.memory else { return Ok(()) };
        // SAFETY: the caller guarantees that the bytes are readable. Padding may be uninitialized.
        let copied = unsafe {
            let bytes = slice::from_raw_parts(from, self.len * size_of::<T>());
            self.device.0.backend.upload(memory, bytes)
        };
        copied.map_err(|error| error.on(|| self.device.to_string()))
    }

    /// Copies the values from the device, after earlier launches on its default stream.
    ///
    /// Returns an error if the device fails, or if an earlier kernel failed.
    ///
    /// # Panics
    /// Panics if the length of `into` differs from the buffer's length.
    pub fn download(&self, into: &mut [T]) -> Result<()> {
        assert_eq!(into.len(), self.len, "the number of values differs from the buffer's length");
        // SAFETY: `into` is as large as the buffer, as just asserted. Any bytes are valid values.
        unsafe { self.download_to(into.as_mut_ptr()) }
    }

    /// Copies all values to this address.
    ///
    /// # Safety
    /// `into` is valid for writes of as many values as the buffer has.
    unsafe fn download_to(&self, into: *mut T) -> Result<()> {
        let Some(memory) = self.memory else { return Ok(()) };
        let size = self.len * size_of::<T>();
        // SAFETY: the buffer has this many bytes, and the caller guarantees as much room at `into`.
        let copied = unsafe { self.device.0.backend.download(into.cast(), memory, size) };
        copied.map_err(|error| error.on(|| self.device.to_string()))
    }

    /// Copies the values from the device to a new vector, like [`Buffer::download`].
    pub fn to_vec(&self) -> Result<Vec<T>> {
        let mut values = Vec::with_capacity(self.len);
        // SAFETY: the vector has space for all values. If no error is returned, all bytes were
        // copied, and any bytes are valid values.
        unsafe {
            self.download_to(values.as_mut_ptr())?;
            values.set_len(self.len);
        }
        Ok(values)
    }

    fn address(&self) -> *mut T {
        self.memory.map_or(ptr::null_mut(), |memory| memory.0.cast())
    }
}

impl<T: BufferItem> DeviceBuffer for Buffer<T> {
    type Item = T;

    fn device_address(&self) -> *const T {
        self.address()
    }

    fn device_id(&self) -> DeviceId {
        // No kernel accesses an empty buffer.
        if self.memory.is_some() { self.device.0.id() } else { DeviceId::UNKNOWN }
    }
}

impl<T: BufferItem> Drop for Buffer<T> {
    fn drop(&mut self) {
        if let Some(memory) = self.memory {
            // SAFETY: the memory was allocated for this buffer, and only this buffer frees it. The
            // caller of each launch guarantees that no kernel still uses the memory.
            unsafe { self.device.0.backend.free(memory, self.len * size_of::<T>()) };
        }
    }
}

impl<T: BufferItem> fmt::Debug for Buffer<T> {
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

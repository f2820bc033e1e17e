//! Addresses in variables.

use crate::impl_buffer_item;
use core::fmt;

/// An address in the memory of a device, as a value in memory: a variable `__device__ float *data`
/// is a `Pointer<f32>`.
///
/// [`DeviceBuffer::device_address`](crate::DeviceBuffer::device_address) returns the address of a
/// buffer.
///
/// Source: pointers of device code, which have 64 bits, in the CUDA and HIP programming guides.
#[repr(transparent)]
pub struct Pointer<T>(pub *mut T);

impl<T> Clone for Pointer<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Pointer<T> {}

impl<T> PartialEq for Pointer<T> {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl<T> fmt::Debug for Pointer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl_buffer_item!(bytes Pointer<T>);

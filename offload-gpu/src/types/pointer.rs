//! Addresses in variables.

use crate::impl_buffer_item;
use core::fmt;

/// An address in device memory, as the value of a variable: `__device__ float *data` is a
/// `Pointer<f32>`.
///
/// [`DeviceBuffer::device_address`](crate::DeviceBuffer::device_address) returns the address of a
/// buffer.
///
/// Source: the CUDA and HIP programming guides, for the 64-bit pointers of device code.
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

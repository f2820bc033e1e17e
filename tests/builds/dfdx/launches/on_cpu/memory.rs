//! Buffers for launches on the CPU, where device memory is host memory.

use offload_gpu::DeviceBuffer;
use std::ops::RangeFull;

pub struct CudaSlice<T>(Vec<T>);

pub struct CudaViewMut<'a, T>(&'a mut [T]);

impl<T> CudaSlice<T> {
    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn slice_mut(&mut self, _: RangeFull) -> CudaViewMut<'_, T> {
        CudaViewMut(&mut self.0)
    }
}

impl<T> DeviceBuffer for CudaSlice<T> {
    type Item = T;

    fn device_address(&self) -> *const T {
        self.0.as_ptr()
    }
}

impl<T> DeviceBuffer for CudaViewMut<'_, T> {
    type Item = T;

    fn device_address(&self) -> *const T {
        self.0.as_ptr()
    }
}

pub fn host_to_device<T>(values: Vec<T>) -> CudaSlice<T> {
    CudaSlice(values)
}

pub fn device_to_host<T>(of: &CudaSlice<T>) -> &[T] {
    &of.0
}

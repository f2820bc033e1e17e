//! Buffers of cudarc as arguments, with the feature `cudarc`.
//!
//! cudarc orders the work of its streams by two events of each buffer: the last read and the last
//! write. Whoever uses a buffer on a stream lets the stream wait, and records an event afterwards.
//! A guard of cudarc records the event when it is dropped, but it is bound to a stream, and a call
//! does not know yet where it will be launched. So the buffer's own stream waits when the call is
//! made, and the launch does the guard's work, on the stream of the launch.

use super::argument::DeviceBuffer;
use super::event::BufferEvent;
use ::cudarc::driver::{CudaSlice, CudaStream, CudaView, CudaViewMut};
use ::cudarc::driver::{DevicePtr, DevicePtrMut, DeviceSlice as _, SyncOnDrop};
use alloc::sync::Arc;
use core::mem;

/// Takes over the work of a guard that was made for the buffer's own stream. Returns `None` if
/// cudarc does not order the buffer's work.
fn take_over(guard: SyncOnDrop<'_>, stream: &CudaStream) -> Option<BufferEvent> {
    let SyncOnDrop::Record(Some((event, _))) = &guard else { return None };
    let event = event.cu_event();
    // Dropped, the guard would record the event before the launch.
    mem::forget(guard);
    if !stream.context().is_managing_stream_synchronization() {
        return None;
    }
    BufferEvent::new(event.expose_provenance(), stream.cu_stream().expose_provenance())
}

macro_rules! impl_device_buffer {
    ($([$($lifetime:lifetime)?] $buffer:ty, $write:ident;)*) => {$(
        impl<$($lifetime,)? T> DeviceBuffer for $buffer {
            type Item = T;

            fn device_address(&self) -> *const T {
                self.for_reading().0
            }

            fn for_reading(&self) -> (*const T, Option<BufferEvent>) {
                let stream = self.stream();
                let (address, guard) = self.device_ptr(stream);
                (address as *const T, take_over(guard, stream))
            }

            fn for_writing(&mut self) -> (*mut T, Option<BufferEvent>) {
                $write(self)
            }
        }
    )*};
}

impl_device_buffer! {
    [] CudaSlice<T>, for_writing;
    ['a] CudaViewMut<'a, T>, for_writing;
    ['a] CudaView<'a, T>, refuse_writing;
}

fn for_writing<T>(buffer: &mut impl DevicePtrMut<T>) -> (*mut T, Option<BufferEvent>) {
    let stream = Arc::clone(buffer.stream());
    let (address, guard) = buffer.device_ptr_mut(&stream);
    (address as *mut T, take_over(guard, &stream))
}

/// Does not compile where a program uses it: nothing would order later work after the writing.
fn refuse_writing<T>(_: &mut CudaView<'_, T>) -> (*mut T, Option<BufferEvent>) {
    const { panic!("a kernel cannot get `&mut CudaView`: pass `&view`, or `&mut` a `CudaViewMut`") }
}

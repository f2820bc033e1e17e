//! cudarc buffers as arguments, with the `cudarc` feature.
//!
//! cudarc orders work on different streams by two events of each buffer: the last read and the last
//! write. Before a stream uses a buffer, it waits for these events; after the use, dropping
//! cudarc's guard records a new event. A guard is bound to one stream, but a call's stream is not
//! known before the launch. Therefore, the buffer's own stream waits when the call is created, and
//! the launch, in place of the guard, records the event on the launch's own stream.

use super::argument::DeviceBuffer;
use super::devices::DeviceId;
use super::event::BufferEvent;
use ::cudarc::driver::{CudaSlice, CudaStream, CudaView, CudaViewMut};
use ::cudarc::driver::{DevicePtr, DevicePtrMut, SyncOnDrop};
use alloc::sync::Arc;
use core::mem;
use offload_format::target::Vendor;

/// Replaces a guard that was created for the buffer's own stream, and returns the guard's event.
/// Returns `None` if cudarc does not order the buffer's work.
fn take_over(guard: SyncOnDrop<'_>, stream: &CudaStream) -> Option<BufferEvent> {
    let SyncOnDrop::Record(Some((event, _))) = &guard else { return None };
    let event = event.cu_event();
    // Dropping the guard would record the event before the launch.
    mem::forget(guard);
    if !stream.context().is_managing_stream_synchronization() {
        return None;
    }
    BufferEvent::new(event.expose_provenance(), stream.cu_stream().expose_provenance())
}

/// Returns the buffer's GPU, identified by the driver's number for it.
fn device_id<T>(buffer: &impl DevicePtr<T>) -> DeviceId {
    let gpu = i32::try_from(buffer.stream().context().ordinal());
    match (Vendor::of_driver("cuda"), gpu) {
        // No kernel accesses an empty buffer.
        (Some(vendor), Ok(gpu)) if buffer.len() > 0 => DeviceId::new(vendor, gpu),
        _ => DeviceId::UNKNOWN,
    }
}

fn for_reading<T>(buffer: &impl DevicePtr<T>) -> (*const T, Option<BufferEvent>) {
    let stream = buffer.stream();
    let (address, guard) = buffer.device_ptr(stream);
    (address as *const T, take_over(guard, stream))
}

fn for_writing<T>(buffer: &mut impl DevicePtrMut<T>) -> (*mut T, Option<BufferEvent>) {
    let stream = Arc::clone(buffer.stream());
    let (address, guard) = buffer.device_ptr_mut(&stream);
    (address as *mut T, take_over(guard, &stream))
}

/// Returns the address and the read event of a view through which a kernel may write. cudarc has no
/// write event for views.
fn for_writing_as_reading<T>(view: &mut CudaView<'_, T>) -> (*mut T, Option<BufferEvent>) {
    let (address, event) = for_reading(view);
    (address.cast_mut(), event)
}

macro_rules! impl_device_buffer {
    ($($buffer:ty, $for_writing:ident;)*) => {$(
        impl<T> DeviceBuffer for $buffer {
            type Item = T;

            const IS_OF_CUDARC: bool = true;

            fn device_id(&self) -> DeviceId {
                device_id(self)
            }

            fn device_address(&self) -> *const T {
                for_reading(self).0
            }

            fn for_reading(&self) -> (*const T, Option<BufferEvent>) {
                for_reading(self)
            }

            fn for_writing(&mut self) -> (*mut T, Option<BufferEvent>) {
                $for_writing(self)
            }
        }
    )*};
}

impl_device_buffer! {
    CudaSlice<T>, for_writing;
    CudaViewMut<'_, T>, for_writing;
    CudaView<'_, T>, for_writing_as_reading;
}

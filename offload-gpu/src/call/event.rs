//! The events of cudarc buffers, with the `cudarc` feature.

use core::num::NonZeroUsize;

/// The event that a launch with a cudarc buffer records. This type needs the `cudarc` feature.
///
/// Pass `&CudaSlice`, `&CudaView` or `&CudaViewMut` for memory that the kernel only reads, and
/// `&mut CudaSlice` or `&mut CudaViewMut` for memory that it also writes:
///
/// ```no_run
/// use cudarc::driver::CudaContext;
/// use offload_gpu::run::{Device, Launch};
///
/// # mod kernels {
/// #     use cudarc::driver::CudaSlice;
/// #     pub fn saxpy(n: i32, a: f32, x: &CudaSlice<f32>, y: &mut CudaSlice<f32>) -> offload_gpu::Call<4, 24> { todo!() }
/// # }
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let context = CudaContext::new(0)?;
/// // SAFETY: the context lives as long as the device.
/// let device = unsafe { Device::from_cuda_context(context.cu_ctx().cast())? };
/// let stream = context.new_stream()?;
/// let x = stream.clone_htod(&[1.0_f32; 1000])?;
/// let mut y = stream.alloc_zeros::<f32>(1000)?;
/// let launch = Launch::new(4, 256).stream(stream.cu_stream().cast());
/// // SAFETY: the kernel touches the first 1000 elements of `x` and `y`, and each has 1000.
/// unsafe { kernels::saxpy(1000, 3.0, &x, &mut y).launch_as(&device, &launch)? };
/// println!("{}", stream.clone_dtoh(&y)?[999]);
/// # Ok(()) }
/// ```
///
/// Launches on any stream take part in cudarc's ordering:
///
/// - A launch runs after the work that cudarc has already started on the buffer. On the buffer's
///   own stream, the launch waits like cudarc's launches. On any other stream, such as the default
///   stream, it waits for all work queued on the buffer's own stream.
/// - Later cudarc work on the buffer runs after the launch, and so does the release of the buffer.
///   The buffer may be dropped as soon as the launch has returned.
///
/// `&mut CudaView` is also accepted, since cudarc's own launches write through such views. Both
/// cudarc and this crate treat such a write as a read, so a later read on another stream does not
/// wait for it. `slice_mut` returns a view for writing.
///
/// The buffer has to exist when the call is launched. Create a new call for each launch: the
/// buffer's stream starts to wait for other streams when the call is created. As in cudarc, nothing
/// is ordered while the context has only its default stream, or after `disable_event_tracking`. In
/// these cases, the program has to order its streams itself.
///
/// This order applies only to launches by this crate. A program that launches kernels itself with
/// [`Call::pointers`](super::Call::pointers) passes addresses from `device_ptr` and keeps cudarc's
/// guards.
///
/// A type that wraps a cudarc buffer forwards these methods:
///
/// ```
/// use cudarc::driver::CudaSlice;
/// use offload_gpu::{BufferEvent, DeviceBuffer, DeviceId};
///
/// struct Cached<T>(CudaSlice<T>);
///
/// impl<T> DeviceBuffer for Cached<T> {
///     type Item = T;
///
///     fn device_address(&self) -> *const T {
///         self.0.device_address()
///     }
///
///     fn device_id(&self) -> DeviceId {
///         self.0.device_id()
///     }
///
///     fn for_reading(&self) -> (*const T, Option<BufferEvent>) {
///         self.0.for_reading()
///     }
///
///     fn for_writing(&mut self) -> (*mut T, Option<BufferEvent>) {
///         self.0.for_writing()
///     }
/// }
/// ```
///
/// Source: `DevicePtr`, `DevicePtrMut` and `SyncOnDrop` of cudarc.
#[derive(Debug, Clone, Copy)]
pub struct BufferEvent {
    // Both fields are driver handles, stored as numbers so that this type is `Send`, like cudarc's
    // types.
    /// The `CUevent` for the buffer's last read or last write.
    event: NonZeroUsize,
    /// The `CUstream` that waits for earlier uses of the buffer.
    stream: usize,
}

impl BufferEvent {
    /// Returns `None` for a null event.
    pub(super) fn new(event: usize, stream: usize) -> Option<Self> {
        Some(Self { event: NonZeroUsize::new(event)?, stream })
    }

    /// Returns the `CUevent`.
    pub(crate) fn event(self) -> usize {
        self.event.get()
    }

    /// Returns the `CUstream` of the buffer.
    pub(crate) fn stream(self) -> usize {
        self.stream
    }
}

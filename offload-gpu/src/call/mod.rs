//! Kernel calls with checked parameters, returned by the functions of `include_kernels!`.

mod alike;
mod argument;
mod check;
#[cfg(feature = "cudarc")]
mod cudarc;
#[cfg(feature = "run")]
mod devices;
#[cfg(feature = "cudarc")]
mod event;
mod named;
mod overrides;
mod parameter;

pub use alike::Alike;
pub use argument::{AnyConst, AnyMut, Argument, DeclaredArgument, DeviceBuffer, Passed, Stored};
pub use check::{Declaration, Recorded, check};
#[cfg(feature = "run")]
pub(crate) use devices::BufferDevices;
#[cfg(feature = "run")]
pub use devices::DeviceId;
#[cfg(feature = "cudarc")]
pub use event::BufferEvent;
pub use named::{AnyArgument, Arguments, CallError, NamedCall, NamedKernel};
pub use named::{NamedGroup, NamedKernels, NamedTable, named, wanted};
pub use overrides::{
    Extent, Override, OverrideField, UnknownField, check_override, check_override_field,
};
pub use parameter::{DeclaredParameter, Layout, Parameter, ParameterLayout, layout};

use crate::pack::{Form, Kernel, Plain};
use core::ffi::c_void;
use core::fmt;
use core::mem::MaybeUninit;
use core::ptr;

/// A kernel with the `N` arguments of one launch, `BYTES` bytes in total. The functions of
/// [`include_kernels!`](crate::include_kernels) return this type.
///
/// The call owns the values. [`pointers`](Call::pointers) returns the array for launches by CUDA
/// and HIP:
///
/// ```
/// # use core::ffi::c_void;
/// # fn cu_launch_kernel(parameters: *mut *mut c_void) {}
/// # mod kernels {
/// #     pub fn saxpy(n: i32, a: f32, x: *const f32, y: *mut f32) -> offload_gpu::Call<4, 24> { todo!() }
/// # }
/// # fn example(n: i32, x: *const f32, y: *mut f32) {
/// let call = kernels::saxpy(n, 2.0, x, y);
/// let mut parameters = call.pointers();
/// // cuLaunchKernel(function, …, parameters.as_mut_ptr(), null_mut())
/// # cu_launch_kernel(parameters.as_mut_ptr());
/// # }
/// ```
///
/// The compiler has checked the number and types of the arguments. A launch is still `unsafe`: the
/// caller must ensure that pointers of the same type are not swapped, and that the memory is large
/// enough and stays valid until the kernel has finished.
///
/// `HAS_BUFFER` is false if the offsets of the arguments differ between images, so that no
/// [`buffer`](Call::buffer) fits all images.
#[derive(Clone, Copy)]
pub struct Call<const N: usize, const BYTES: usize, F: Form = Plain, const HAS_BUFFER: bool = true>
{
    kernel: Kernel<'static, F>,
    offsets: [usize; N],
    /// A bit for each of the first 64 arguments: set if the argument is an address of the size of a
    /// `usize`.
    pub(crate) addresses: u64,
    /// The size of the arguments in bytes. It may be less than `BYTES`, since other instances of a
    /// kernel template may need more.
    used: usize,
    /// The devices of the arguments that are buffers.
    #[cfg(feature = "run")]
    pub(crate) devices: BufferDevices,
    /// The events of the arguments that are cudarc buffers, at the arguments' positions.
    #[cfg(feature = "cudarc")]
    pub(crate) events: [Option<BufferEvent>; N],
    arguments: Aligned<BYTES>,
}

/// Storage for arguments, aligned because launches read arguments in place. 128 bytes is the
/// greatest alignment of any OpenCL type.
#[derive(Clone, Copy)]
#[repr(C, align(128))]
struct Aligned<const BYTES: usize>([MaybeUninit<u8>; BYTES]);

/// Stores a value at the start of this memory.
///
/// # Panics
/// Panics if the value does not fit.
#[allow(unsafe_code)]
fn store<T: Stored>(memory: &mut [MaybeUninit<u8>], value: T) {
    let place = &mut memory[..size_of::<T>()];
    // SAFETY: the destination is as long as a `T`. The write need not be aligned.
    unsafe { ptr::write_unaligned(place.as_mut_ptr().cast::<T>(), value) };
}

/// The images of a kernel's module. `SAME` is true if all images have the kernel's arguments at the
/// same offsets.
#[derive(Debug)]
pub struct Images<const SAME: bool>;

/// The condition of [`Call::buffer`]: all [`Images`] have the arguments at the same offsets.
#[diagnostic::on_unimplemented(
    message = "the offsets of this kernel's arguments differ between images, so one buffer cannot \
               fit all images",
    note = "use `pointers()` instead, for `kernelParams` of cuLaunchKernel and hipModuleLaunchKernel"
)]
pub trait HaveOneLayout {}

impl HaveOneLayout for Images<true> {}

impl<const N: usize, const BYTES: usize, F: Form, const HAS_BUFFER: bool>
    Call<N, BYTES, F, HAS_BUFFER>
{
    /// Creates a call whose arguments are not set yet. Only macro expansions use it.
    #[doc(hidden)]
    pub fn new(kernel: Kernel<'static, F>, offsets: [usize; N]) -> Self {
        let arguments = Aligned([MaybeUninit::uninit(); BYTES]);
        Self {
            kernel,
            offsets,
            addresses: 0,
            used: BYTES,
            #[cfg(feature = "run")]
            devices: BufferDevices::NONE,
            #[cfg(feature = "cudarc")]
            events: [None; N],
            arguments,
        }
    }

    /// Converts this call to the call type that all instances of a kernel template share. Only
    /// macro expansions use it.
    ///
    /// # Panics
    /// Panics if the other type has less space for arguments.
    #[doc(hidden)]
    pub fn widened<const MORE: usize, const ALL_HAVE_BUFFER: bool>(
        self,
    ) -> Call<N, MORE, F, ALL_HAVE_BUFFER> {
        let mut arguments = Aligned([MaybeUninit::uninit(); MORE]);
        arguments.0[..BYTES].copy_from_slice(&self.arguments.0);
        Call {
            kernel: self.kernel,
            offsets: self.offsets,
            addresses: self.addresses,
            used: self.used,
            #[cfg(feature = "run")]
            devices: self.devices,
            #[cfg(feature = "cudarc")]
            events: self.events,
            arguments,
        }
    }

    /// Sets an argument. Only macro expansions use it.
    ///
    /// # Panics
    /// Panics if the value does not fit between its offset and the end of the arguments.
    #[doc(hidden)]
    pub fn set<A: Passed>(&mut self, number: usize, argument: A) {
        #[cfg(not(feature = "run"))]
        let value = argument.pass();
        #[cfg(feature = "run")]
        let value = argument.pass_noting(number, &mut self.devices);
        self.set_value(number, value);
        #[cfg(feature = "cudarc")]
        {
            self.events[number] = self.devices.event.take();
        }
    }

    fn set_value<T: Stored>(&mut self, number: usize, value: T) {
        self.addresses |= T::address_bit(number);
        store(&mut self.arguments.0[self.offsets[number]..], value);
    }

    /// Returns the address of the first argument; the others follow, each at the next multiple of
    /// its alignment.
    fn start(&self) -> *const u8 {
        self.arguments.0.as_ptr().cast()
    }

    /// Returns the kernel.
    pub fn kernel(&self) -> Kernel<'static, F> {
        self.kernel
    }

    /// Returns the address of each argument, in order, for the parameter `kernelParams` of
    /// `cuLaunchKernel` and of `hipModuleLaunchKernel`.
    ///
    /// The pointers point into this call: do not move or drop the call until the launch has
    /// returned. A launch only reads this memory.
    pub fn pointers(&self) -> [*mut c_void; N] {
        self.offsets.map(|offset| self.arguments.0[offset..].as_ptr().cast_mut().cast())
    }

    /// Returns the address and the size in bytes of the memory that contains all arguments. Pass
    /// them to CUDA's launches in `extra`, as `CU_LAUNCH_PARAM_BUFFER_POINTER` and `…_SIZE`; HIP
    /// has corresponding constants. As in the images, each argument is at the next multiple of its
    /// alignment.
    ///
    /// If the offsets of the arguments differ between images, calling this method does not compile;
    /// use [`pointers`](Call::pointers), which fits all images. The offsets may differ for:
    ///
    /// | vendor and argument | alignment in images |
    /// |---|---|
    /// | NVIDIA: aligned to more than 16 bytes | depends on the GPU |
    /// | NVIDIA: a packed struct | often as if it were not packed |
    /// | AMD: an `__int128` | 8 bytes |
    pub fn buffer(&self) -> (*const c_void, usize)
    where
        Images<HAS_BUFFER>: HaveOneLayout,
    {
        (self.start().cast(), self.used)
    }
}

impl<const N: usize, const BYTES: usize, F: Form, const HAS_BUFFER: bool> fmt::Debug
    for Call<N, BYTES, F, HAS_BUFFER>
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call")
            .field("kernel", &self.kernel)
            .field("offsets", &self.offsets)
            .finish_non_exhaustive()
    }
}

//! Types that may be passed for a parameter.

use super::alike::{Alike, fits_alike, points_to_alike};
#[cfg(feature = "run")]
use super::devices::{BufferDevices, DeviceId};
#[cfg(feature = "cudarc")]
use super::event::BufferEvent;
use crate::types::Bool;
use core::any::TypeId;
use core::ffi::c_void;
use core::ptr;

/// A value that may be passed for a kernel's parameter of type `T`.
///
/// | parameter | accepted arguments |
/// |---|---|
/// | a number or `bool` | the corresponding Rust type; `usize` and `isize` for `size_t` and `ptrdiff_t` |
/// | `__half`, `_Float16` | [`F16`](crate::types::F16), its bits in a `u16`, `half::f16` with the `half` feature |
/// | `__nv_bfloat16`, `__hip_bfloat16`, `__bf16` | [`Bf16`](crate::types::Bf16), a `u16`, `half::bf16` |
/// | an 8-bit floating-point number, such as `__nv_fp8_e4m3` | its type in [`types`](crate::types), its bits in a `u8` |
/// | a vector, such as `float4` | its type in [`types`](crate::types) |
/// | a struct | the struct of the same name in the module of the kernel's function |
/// | `const T *` | `*const T`, `*mut T`, a reference to a [`DeviceBuffer`] of `T`, `None` for null |
/// | `T *` | `*mut T`, a mutable reference to a [`DeviceBuffer`] of `T`, `None` for null |
/// | `const void *`, `void *` | the same as for `const T *` and `T *`, for any `T` |
///
/// For a pointer to `T`, pointers to [`Alike`] types are also accepted. A C++ reference is passed
/// as a pointer.
#[diagnostic::on_unimplemented(
    message = "the kernel's parameter is `{T}`: `{Self}` cannot be passed",
    label = "`{T}` is needed here",
    note = "the kernel's source determines the types of its parameters"
)]
pub trait Argument<T>: Passed {}

/// Converts an argument to the value for the kernel. Only macro expansions use it.
#[doc(hidden)]
pub trait Passed {
    /// The type whose bytes are the argument's bytes.
    type Value: Stored;

    /// Whether the argument is a shared reference to a cudarc buffer.
    #[cfg(feature = "cudarc")]
    const IS_OF_CUDARC: bool = false;

    /// Returns the kernel's value for this argument.
    fn pass(self) -> Self::Value;

    /// Returns the kernel's value for the argument with this number, counted from 0. If the
    /// argument is a buffer, also stores its device and its event.
    #[cfg(feature = "run")]
    fn pass_noting(self, _number: usize, _devices: &mut BufferDevices) -> Self::Value
    where
        Self: Sized,
    {
        self.pass()
    }
}

/// A value as it is stored among the arguments. Only macro expansions use it.
#[doc(hidden)]
pub trait Stored: Copy {
    /// Whether the value is an address.
    const IS_POINTER: bool = false;

    /// Returns whether the value may be passed for a parameter of the type with this ID. At run
    /// time, this function replaces the implementations of [`Argument`].
    fn fits(wanted: TypeId) -> bool
    where
        Self: 'static,
    {
        wanted == TypeId::of::<Self>()
    }

    /// Returns whether the value is a `const` address that would fit a parameter of this type if
    /// the address were mutable.
    #[cfg(feature = "cudarc")]
    fn fits_mutable(_wanted: TypeId) -> bool
    where
        Self: 'static,
    {
        false
    }

    /// If the value is an address of the size of a `usize`, returns the bit for the argument with
    /// this number, counted from 0. Otherwise, returns 0. Only the first 64 arguments have bits.
    fn address_bit(number: usize) -> u64 {
        let is_address = Self::IS_POINTER && size_of::<Self>() == size_of::<usize>();
        if is_address && number < 64 { 1 << number } else { 0 }
    }
}

impl<T> Stored for *const T {
    const IS_POINTER: bool = true;

    fn fits(wanted: TypeId) -> bool
    where
        Self: 'static,
    {
        wanted == TypeId::of::<Self>()
            || wanted == TypeId::of::<AnyConst>()
            || points_to_alike(TypeId::of::<T>(), false, wanted)
    }

    #[cfg(feature = "cudarc")]
    fn fits_mutable(wanted: TypeId) -> bool
    where
        Self: 'static,
    {
        <*mut T>::fits(wanted)
    }
}

impl<T> Stored for *mut T {
    const IS_POINTER: bool = true;

    fn fits(wanted: TypeId) -> bool
    where
        Self: 'static,
    {
        wanted == TypeId::of::<Self>()
            || wanted == TypeId::of::<*const T>()
            || wanted == TypeId::of::<AnyConst>()
            || wanted == TypeId::of::<AnyMut>()
            || points_to_alike(TypeId::of::<T>(), true, wanted)
    }
}

/// A pointer from an `Option`, which may be null. It is accepted only for parameters of exactly
/// this pointer type.
#[doc(hidden)]
#[derive(Debug, Clone, Copy)]
#[repr(transparent)]
pub struct OrNull<P>(P);

macro_rules! impl_stored_or_null {
    ($($mutability:tt $void:ty;)*) => {$(
        impl<T> Stored for OrNull<*$mutability T> {
            const IS_POINTER: bool = true;

            fn fits(wanted: TypeId) -> bool
            where
                Self: 'static,
            {
                let is_void = TypeId::of::<T>() == TypeId::of::<c_void>();
                wanted == TypeId::of::<*$mutability T>()
                    || is_void && wanted == TypeId::of::<$void>()
            }
        }
    )*};
}

impl_stored_or_null! {
    const AnyConst;
    mut AnyMut;
}

/// An argument for parameter `NUMBER`, called `Name`, of the declared kernel `Kernel`. The
/// parameter has `BYTES` bytes. Only macro expansions use it.
#[diagnostic::on_unimplemented(
    message = "parameter {NUMBER}, `{Name}`, of the kernel `{Kernel}` is `{T}` ({BYTES} bytes): `{Self}` cannot be passed",
    label = "`{T}` is needed here",
    note = "the kernel's source determines the types of its parameters"
)]
pub trait DeclaredArgument<T, Kernel, Name, const NUMBER: usize, const BYTES: usize>:
    Passed
{
}

#[diagnostic::do_not_recommend]
impl<T, A: Argument<T>, Kernel, Name, const NUMBER: usize, const BYTES: usize>
    DeclaredArgument<T, Kernel, Name, NUMBER, BYTES> for A
{
}

/// A buffer in device memory that can be passed for a pointer.
///
/// The `cudarc` feature implements this trait for cudarc's `CudaSlice`, `CudaView` and
/// `CudaViewMut`. To pass buffers from cust and other crates, wrap them in your own type:
///
/// ```
/// use offload_gpu::DeviceBuffer;
///
/// struct Buffer(u64); // a CUdeviceptr
///
/// impl DeviceBuffer for Buffer {
///     type Item = f32;
///
///     fn device_address(&self) -> *const f32 {
///         self.0 as *const f32
///     }
/// }
/// ```
///
/// Source: `CUdeviceptr` (CUDA driver API) and `hipDeviceptr_t` (HIP).
pub trait DeviceBuffer {
    /// The type of the buffer's elements.
    type Item;

    /// Returns the address of the buffer's first element in device memory.
    fn device_address(&self) -> *const Self::Item;

    /// Returns the memory's device, if the type knows it, so that a launch on a different device is
    /// an error. A type that wraps a buffer forwards this call. Needs the `run` feature.
    #[cfg(feature = "run")]
    fn device_id(&self) -> DeviceId {
        DeviceId::UNKNOWN
    }

    /// Whether the buffer's type comes from cudarc. For such a buffer,
    /// [`NamedKernel`](crate::NamedKernel) also accepts `&out` for memory that a kernel writes,
    /// like cudarc's own launches.
    #[cfg(feature = "cudarc")]
    #[doc(hidden)]
    const IS_OF_CUDARC: bool = false;

    /// Returns the address for a launch that reads the buffer, and the cudarc event that the launch
    /// records. A type that wraps a cudarc buffer forwards this call.
    #[cfg(feature = "cudarc")]
    fn for_reading(&self) -> (*const Self::Item, Option<BufferEvent>) {
        (self.device_address(), None)
    }

    /// Returns the address for a launch that writes to the buffer, and the cudarc event that the
    /// launch records. A type that wraps a cudarc buffer forwards this call.
    #[cfg(feature = "cudarc")]
    fn for_writing(&mut self) -> (*mut Self::Item, Option<BufferEvent>) {
        (self.device_address().cast_mut(), None)
    }
}

/// The target of a `const void *`: anything.
#[derive(Debug)]
pub enum AnyConst {}

/// The target of a `void *`: anything.
#[derive(Debug)]
pub enum AnyMut {}

macro_rules! impl_passed {
    ($([$($generics:tt)*] $from:ty => $value:ty, $it:ident $pass:expr;)*) => {$(
        impl<$($generics)*> Passed for $from {
            type Value = $value;

            fn pass(self) -> $value {
                let $it = self;
                $pass
            }
        }
    )*};
}

macro_rules! impl_argument {
    ($([$($generics:tt)*] $from:ty => $to:ty;)*) => {$(
        #[diagnostic::do_not_recommend]
        impl<$($generics)*> Argument<$to> for $from {}
    )*};
}

macro_rules! numbers {
    ($($number:ty)*) => {
        impl_passed! { $([] $number => $number, it it;)* }
        $(
            impl Stored for $number {
                #[inline]
                fn fits(wanted: TypeId) -> bool {
                    wanted == TypeId::of::<Self>() || fits_alike(TypeId::of::<Self>(), wanted)
                }
            }
        )*
        impl_argument! { $([] $number => $number;)* }
    };
}

// A number can be passed only for a parameter of the same type, or of a type that Rust lacks
// (`alike.rs`). The compiler can therefore infer the type of a literal from the parameter.
numbers! { bool i8 u8 i16 u16 i32 u32 i64 u64 i128 u128 isize usize f32 f64 }
#[cfg(feature = "half")]
numbers! { half::f16 half::bf16 }

impl_passed! {
    [T] *const T => *const T, it it;
    [T] *mut T => *mut T, it it;
}

macro_rules! impl_passed_for_buffers {
    ($($from:ty => $value:ty, $it:ident $pass:expr, $for_launch:ident, $is_of_cudarc:expr;)*) => {$(
        impl<B: DeviceBuffer> Passed for $from {
            type Value = $value;

            #[cfg(feature = "cudarc")]
            const IS_OF_CUDARC: bool = $is_of_cudarc;

            fn pass(self) -> $value {
                let $it = self;
                $pass
            }

            #[cfg(feature = "run")]
            fn pass_noting(self, number: usize, devices: &mut BufferDevices) -> $value {
                devices.add(number, B::device_id(self));
                #[cfg(not(feature = "cudarc"))]
                return self.pass();
                #[cfg(feature = "cudarc")]
                {
                    let (address, event) = self.$for_launch();
                    devices.event = event;
                    address
                }
            }
        }
    )*};
}

impl_passed_for_buffers! {
    &B => *const B::Item, it it.device_address(), for_reading, B::IS_OF_CUDARC;
    &mut B => *mut B::Item, it it.device_address().cast_mut(), for_writing, false;
}

impl_passed! {
    [T] Option<*const T> => OrNull<*const T>, it OrNull(it.unwrap_or(ptr::null()));
    [T] Option<*mut T> => OrNull<*mut T>, it OrNull(it.unwrap_or(ptr::null_mut()));
}

impl_argument! {
    [T: Alike<U>, U] *const U => *const T;
    [T: Alike<U>, U] *mut U => *const T;
    [T: Alike<U>, U] *mut U => *mut T;
    [T] *const T => AnyConst;
    [T] *mut T => AnyConst;
    [T] *mut T => AnyMut;
    [T: Alike<B::Item>, B: DeviceBuffer] &B => *const T;
    [T: Alike<B::Item>, B: DeviceBuffer] &mut B => *const T;
    [T: Alike<B::Item>, B: DeviceBuffer] &mut B => *mut T;
    [B: DeviceBuffer] &B => AnyConst;
    [B: DeviceBuffer] &mut B => AnyConst;
    [B: DeviceBuffer] &mut B => AnyMut;
    // Only one type of `Option` is accepted for each pointer, since `None` does not determine its
    // type.
    [T] Option<*const T> => *const T;
    [T] Option<*mut T> => *mut T;
    [] Option<*const c_void> => AnyConst;
    [] Option<*mut c_void> => AnyMut;
    // For a kernel template whose first type is `bool`: the parameter of the generic function has
    // the type that `bool` has in device memory.
    [] bool => Bool;
}

/// Implements `Argument` for structs that expansions declare.
#[doc(hidden)]
#[macro_export]
macro_rules! impl_argument_of_record {
    ($record:ident) => {
        $crate::impl_argument_of_record! { [] $record [] }
    };
    ([$($generics:tt)*] $record:ty [$($clause:tt)*]) => {
        impl<$($generics)*> $crate::__expansion::Stored for $record $($clause)* {}

        impl<$($generics)*> $crate::__expansion::Passed for $record $($clause)* {
            type Value = $record;

            #[inline]
            fn pass(self) -> $record {
                self
            }
        }

        impl<$($generics)*> $crate::__expansion::Argument<$record> for $record $($clause)* {}
    };
}

/// Expands to its items if offload-gpu has the `half` feature. Only macro expansions use it.
#[cfg(feature = "half")]
#[doc(hidden)]
#[macro_export]
macro_rules! with_half {
    ($($item:item)*) => { $($item)* };
}

/// Expands to its items if offload-gpu has the `half` feature. Only macro expansions use it.
#[cfg(not(feature = "half"))]
#[doc(hidden)]
#[macro_export]
macro_rules! with_half {
    ($($item:item)*) => {};
}

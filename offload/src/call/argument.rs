//! What may be passed for a parameter.

use core::ffi::c_void;

/// A value that may be passed for parameter `NUMBER`, called `Name`, of a kernel: one whose type there is `T`, of `BYTES` bytes.
///
/// | the kernel has | may be passed |
/// |---|---|
/// | a number or `bool` | the same type of Rust; `f16` and `bf16` are their bits, a `u16` |
/// | a struct | the struct of the same name beside the kernel's function |
/// | `const T *` | `*const T`, `*mut T`, a reference to a [`DeviceBuffer`] of `T` |
/// | `T *` | `*mut T`, a mutable reference to a [`DeviceBuffer`] of `T` |
/// | `const void *`, `void *` | the same, of any `T` |
///
/// A C++ reference is passed as a pointer.
#[diagnostic::on_unimplemented(
    message = "parameter {NUMBER}, `{Name}`, of the kernel `{Kernel}` is `{T}` ({BYTES} bytes): `{Self}` cannot be passed",
    label = "`{T}` is needed here",
    note = "parameters have the types of the kernel's source"
)]
pub trait Argument<T, Kernel, Name, const NUMBER: usize, const BYTES: usize> {
    /// What is passed.
    type Passed: Copy;

    /// Returns the value that the kernel gets.
    fn pass(self) -> Self::Passed;
}

/// A buffer in device memory that can be passed in place of a pointer.
///
/// Buffers of the crates cust, cudarc and others get it by a type of your own around them:
///
/// ```
/// use offload::DeviceBuffer;
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
pub trait DeviceBuffer {
    /// The type of its elements.
    type Item;

    /// Returns the address of its first element in device memory.
    fn device_address(&self) -> *const Self::Item;
}

/// `const void *`, which may point to anything.
#[derive(Debug)]
pub enum AnyConst {}

/// `void *`, which may point to anything.
#[derive(Debug)]
pub enum AnyMut {}

macro_rules! impl_argument {
    ($([$($generics:tt)*] $from:ty => $to:ty, $passed:ty, $value:ident $pass:expr;)*) => {$(
        #[diagnostic::do_not_recommend]
        impl<$($generics)* Kernel, Name, const NUMBER: usize, const BYTES: usize> Argument<$to, Kernel, Name, NUMBER, BYTES> for $from {
            type Passed = $passed;

            fn pass(self) -> $passed {
                let $value = self;
                $pass
            }
        }
    )*};
}

// One impl for each number: a literal then has the type of the parameter.
impl_argument! {
    [] bool => bool, bool, it it;
    [] i8 => i8, i8, it it;
    [] u8 => u8, u8, it it;
    [] i16 => i16, i16, it it;
    [] u16 => u16, u16, it it;
    [] i32 => i32, i32, it it;
    [] u32 => u32, u32, it it;
    [] i64 => i64, i64, it it;
    [] u64 => u64, u64, it it;
    [] i128 => i128, i128, it it;
    [] u128 => u128, u128, it it;
    [] isize => isize, isize, it it;
    [] usize => usize, usize, it it;
    [] f32 => f32, f32, it it;
    [] f64 => f64, f64, it it;
    [T,] *const T => *const T, *const T, it it;
    [T,] *mut T => *const T, *const T, it it.cast_const();
    [T,] *mut T => *mut T, *mut T, it it;
    [T,] *const T => AnyConst, *const c_void, it it.cast();
    [T,] *mut T => AnyConst, *const c_void, it it.cast_const().cast();
    [T,] *mut T => AnyMut, *mut c_void, it it.cast();
    [B: DeviceBuffer,] &B => *const B::Item, *const B::Item, it it.device_address();
    [B: DeviceBuffer,] &mut B => *const B::Item, *const B::Item, it it.device_address();
    [B: DeviceBuffer,] &mut B => *mut B::Item, *mut B::Item, it it.device_address().cast_mut();
    [B: DeviceBuffer,] &B => AnyConst, *const c_void, it it.device_address().cast();
    [B: DeviceBuffer,] &mut B => AnyConst, *const c_void, it it.device_address().cast();
    [B: DeviceBuffer,] &mut B => AnyMut, *mut c_void, it it.device_address().cast_mut().cast();
}

/// For records, which expansions declare.
#[doc(hidden)]
#[macro_export]
macro_rules! impl_argument_of_record {
    ($record:ident) => {
        impl<
            Kernel,
            Name,
            const NUMBER: $crate::__expansion::core::primitive::usize,
            const BYTES: $crate::__expansion::core::primitive::usize,
        > $crate::__expansion::Argument<$record, Kernel, Name, NUMBER, BYTES> for $record
        {
            type Passed = $record;

            fn pass(self) -> $record {
                self
            }
        }
    };
}

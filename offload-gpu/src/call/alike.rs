//! The types that programs may pass in place of the types in the module `types`.

use super::argument::Argument;
use crate::types::{Bf16, Bool, F8E4M3, F8E4M3Fnuz, F8E5M2, F8E5M2Fnuz, F16};
use core::any::TypeId;
#[cfg(feature = "half")]
use half::{bf16, f16};

/// A type in device memory that a program may represent by `T`, which is the same type or has the
/// same representation.
///
/// | for a kernel's pointer to | pointers to and buffers of these types are also accepted |
/// |---|---|
/// | [`F16`](crate::types::F16) | `u16`, `half::f16` with the `half` feature |
/// | [`Bf16`](crate::types::Bf16) | `u16`, `half::bf16` with the `half` feature |
/// | [`F8E4M3`](crate::types::F8E4M3) and similar types | `u8` |
/// | [`Bool`](crate::types::Bool) | `u8`, `bool` |
///
/// For such a pointer, the compiler cannot infer the type of `ptr::null()`, so pass `None` instead.
///
/// Programs cannot implement this trait. To use your own type for a kernel's struct, name the type
/// in [`include_kernels!`](crate::include_kernels), which compares the fields:
///
/// ```compile_fail,E0277
/// struct Half(u16);
/// impl offload_gpu::Alike<u16> for Half {}
/// ```
// rustc does not infer `Self`, so `Self` is the type that is always known: the kernel's.
pub trait Alike<T>: private::Sealed<T> {}

mod private {
    pub trait Sealed<T> {}
}

impl<T> private::Sealed<T> for T {}

impl<T> Alike<T> for T {}

/// Implements the traits for pairs of types: a kernel's type, and a different type that may be
/// passed for it, even by value.
macro_rules! alike_values {
    ($($(#[$feature:meta])? $wanted:ident $value:ident;)*) => {
        $(
            $(#[$feature])?
            impl private::Sealed<$value> for $wanted {}

            $(#[$feature])?
            impl Alike<$value> for $wanted {}

            $(#[$feature])?
            #[diagnostic::do_not_recommend]
            impl Argument<$wanted> for $value {}
        )*

        /// Whether a value of the type `of` may be passed for the different type `wanted`.
        #[inline]
        pub(super) fn fits_alike(of: TypeId, wanted: TypeId) -> bool {
            $(
                $(#[$feature])?
                if of == TypeId::of::<$value>() && wanted == TypeId::of::<$wanted>() {
                    return true;
                }
            )*
            // Accept a `bool` for `Bool`, like the functions of kernel templates.
            of == TypeId::of::<bool>() && wanted == TypeId::of::<Bool>()
        }

        /// Whether `wanted` points to a different type that `of` may replace. `is_mutable` is set
        /// if the program's pointer is mutable.
        #[inline]
        pub(super) fn points_to_alike(of: TypeId, is_mutable: bool, wanted: TypeId) -> bool {
            $($(#[$feature])? if is_pair::<$wanted, $value>(of, is_mutable, wanted) { return true; })*
            // `alike_values` omits `Bool`, since a kernel's `bool` by value is Rust's `bool`.
            is_pair::<Bool, u8>(of, is_mutable, wanted) || is_pair::<Bool, bool>(of, is_mutable, wanted)
        }
    };
}

alike_values! {
    F16 u16;
    Bf16 u16;
    F8E4M3 u8;
    F8E5M2 u8;
    F8E4M3Fnuz u8;
    F8E5M2Fnuz u8;
    #[cfg(feature = "half")]
    F16 f16;
    #[cfg(feature = "half")]
    Bf16 bf16;
}

impl private::Sealed<u8> for Bool {}

impl Alike<u8> for Bool {}

impl private::Sealed<bool> for Bool {}

impl Alike<bool> for Bool {}

/// Whether `of` is `T`, and `wanted` is a pointer to `Wanted`.
fn is_pair<Wanted: Alike<T> + 'static, T: 'static>(
    of: TypeId,
    is_mutable: bool,
    wanted: TypeId,
) -> bool {
    of == TypeId::of::<T>()
        && (wanted == TypeId::of::<*const Wanted>()
            || is_mutable && wanted == TypeId::of::<*mut Wanted>())
}

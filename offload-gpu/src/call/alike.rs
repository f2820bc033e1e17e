//! The types that may be passed in place of those of the module `types`.

use crate::types::{Bf16, Bool, F8E4M3, F8E4M3Fnuz, F8E5M2, F8E5M2Fnuz, F16};
use core::any::TypeId;
#[cfg(feature = "half")]
use half::{bf16, f16};

/// A type in the memory of a kernel, where a program may have `T`: the type itself, or another type
/// with the same values.
///
/// | a kernel has a pointer to | may be passed, too: pointers to and buffers of |
/// |---|---|
/// | [`F16`](crate::types::F16) | `u16`, `half::f16` with the feature `half` |
/// | [`Bf16`](crate::types::Bf16) | `u16`, `half::bf16` with the feature `half` |
/// | [`F8E4M3`](crate::types::F8E4M3) and its kin | `u8` |
/// | [`Bool`](crate::types::Bool) | `u8`, `bool` |
///
/// The compiler does not know the type of `ptr::null()` for such a pointer: pass `None`.
///
/// Programs cannot implement this trait. A type of the program takes the place of a kernel's struct
/// by a line in [`include_kernels!`](crate::include_kernels), which compares the fields:
///
/// ```compile_fail,E0277
/// struct Half(u16);
/// impl offload_gpu::Alike<u16> for Half {}
/// ```
// The kernel's type is `Self`, because rustc infers no `Self`: `null()` has to be a pointer to it.
pub trait Alike<T>: private::Sealed<T> {}

mod private {
    pub trait Sealed<T> {}
}

impl<T> private::Sealed<T> for T {}

impl<T> Alike<T> for T {}

/// Calls a macro with all pairs of a kernel's type and another type that may be passed for it, also
/// by value.
macro_rules! with_alike_values {
    ($to:ident) => {
        $to! {
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
    };
}
pub(super) use with_alike_values;

macro_rules! values {
    ($($(#[$feature:meta])? $wanted:ident $value:ident;)*) => {
        $(
            $(#[$feature])?
            impl private::Sealed<$value> for $wanted {}

            $(#[$feature])?
            impl Alike<$value> for $wanted {}
        )*

        /// Whether a value of the type `of` may be passed for one of the type `wanted`, which is
        /// another type.
        #[inline]
        pub(super) fn fits_alike(of: TypeId, wanted: TypeId) -> bool {
            $(
                $(#[$feature])?
                if of == TypeId::of::<$value>() && wanted == TypeId::of::<$wanted>() {
                    return true;
                }
            )*
            // Functions of kernel templates take a `bool` there, too.
            of == TypeId::of::<bool>() && wanted == TypeId::of::<Bool>()
        }

        /// Whether `wanted` is a pointer to another type, in whose place the type `of` may be. The
        /// pointer `is_mutable` if the program may write through its own.
        #[inline]
        pub(super) fn points_to_alike(of: TypeId, is_mutable: bool, wanted: TypeId) -> bool {
            $($(#[$feature])? if is_pair::<$wanted, $value>(of, is_mutable, wanted) { return true; })*
            // A `bool` by value is Rust's own.
            is_pair::<Bool, u8>(of, is_mutable, wanted) || is_pair::<Bool, bool>(of, is_mutable, wanted)
        }
    };
}

with_alike_values!(values);

impl private::Sealed<u8> for Bool {}

impl Alike<u8> for Bool {}

impl private::Sealed<bool> for Bool {}

impl Alike<bool> for Bool {}

/// Whether the type `of` is `T`, and `wanted` a pointer to `Wanted`.
fn is_pair<Wanted: Alike<T> + 'static, T: 'static>(
    of: TypeId,
    is_mutable: bool,
    wanted: TypeId,
) -> bool {
    of == TypeId::of::<T>()
        && (wanted == TypeId::of::<*const Wanted>()
            || is_mutable && wanted == TypeId::of::<*mut Wanted>())
}

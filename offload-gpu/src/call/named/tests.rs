//! Checks that named kernels accept the same arguments as the functions of kernels.

use super::*;
use crate::call::{AnyConst, AnyMut, Argument, DeviceBuffer, wanted};
use crate::types::*;
use core::marker::PhantomData;

/// An argument of the type `A` for a parameter of the type `T`.
struct Pair<A, T>(PhantomData<(A, T)>);

/// The compiler's verdict: this constant if `A` implements `Argument<T>`, otherwise the constant of
/// `Otherwise`.
impl<A: Argument<T>, T> Pair<A, T> {
    const IS_ACCEPTED: bool = true;
}

trait Otherwise {
    const IS_ACCEPTED: bool = false;
}

impl<A, T> Otherwise for Pair<A, T> {}

/// A buffer of `T`.
struct Of<T>(PhantomData<T>);

impl<T> DeviceBuffer for Of<T> {
    type Item = T;

    fn device_address(&self) -> *const T {
        ptr::null()
    }
}

#[derive(Clone, Copy)]
#[repr(C)]
struct P {
    _x: f32,
}
crate::impl_argument_of_record!(P);

/// A different record of the same size.
#[derive(Clone, Copy)]
#[repr(C)]
struct Q {
    _x: f32,
}
crate::impl_argument_of_record!(Q);

/// A record that only pointers refer to.
#[derive(Debug)]
struct Opaque;

/// Returns a list of all pairs of a parameter and an argument: their types as text, the compiler's
/// verdict, and the verdict of a named kernel.
macro_rules! pairs {
    ([$($parameter:ty),* $(,)?] $arguments:tt) => { [$(pairs! { @ $parameter; $arguments }),*] };
    (@ $parameter:ty; [$($argument:ty),* $(,)?]) => {
        &[$((
            concat!(stringify!($argument), " for ", stringify!($parameter)),
            Pair::<$argument, $parameter>::IS_ACCEPTED,
            <<$argument as Passed>::Value as Stored>::fits(wanted::<$parameter>().id),
        )),*][..]
    };
}

#[test]
fn what_functions_accept_is_accepted() {
    let pairs = pairs! {
        [
            bool, i8, u8, i16, u16, i32, u32, i64, u64, i128, u128, isize, usize, f32, f64,
            P, Q, F16, Bf16, F8E5M2, Bool, float4,
            *const f32, *mut f32, *const u16, *mut u8, *const P, *mut P, *const Opaque, *mut Opaque,
            *const F16, *mut F16, *mut Bf16, *const F8E4M3, *const Bool, *mut Bool, *mut float4,
            *const *const f32, *mut *mut f32, *const [f32; 4], *mut [[u16; 3]; 4], *const c_void, *mut c_void,
            AnyConst, AnyMut,
        ]
        [
            bool, i8, u8, i16, u16, i32, u32, i64, u64, i128, u128, isize, usize, f32, f64,
            P, Q, F16, Bf16, F8E4M3, Bool, float4, int4,
            *const f32, *mut f32, *const u16, *mut u8, *const P, *mut P, *const Q, *const Opaque, *mut Opaque,
            *const F16, *mut F16, *mut Bf16, *mut u16, *const bool, *mut bool, *mut Bool,
            Option<*const f32>, Option<*mut f32>, Option<*const F16>, Option<*mut u16>, Option<*const c_void>,
            Option<*mut c_void>, &Of<F16>, &mut Of<Bf16>, &Of<u8>, &mut Of<u16>, &mut Of<bool>, &mut Of<float4>,
            *const *const f32, *mut *mut f32, *const *mut f32, *const [f32; 4], *mut [f32; 4],
            *mut [[u16; 3]; 4], *const c_void, *mut c_void,
            &Of<f32>, &mut Of<f32>, &Of<u16>, &mut Of<u8>, &Of<P>, &mut Of<P>, &mut Of<Q>, &Of<Opaque>,
            &Of<*const f32>, &mut Of<*mut f32>, &Of<[f32; 4]>, &mut Of<[[u16; 3]; 4]>, &Of<c_void>,
            &mut Of<c_void>,
        ]
    };
    let (mut accepted, mut all) = (0, 0);
    for (words, is_accepted, is_named) in pairs.into_iter().flatten() {
        assert_eq!(is_named, is_accepted, "{words}");
        accepted += usize::from(*is_accepted);
        all += 1;
    }
    assert!(accepted > 90 && all > 1500, "{accepted} of {all}");
}

#[cfg(feature = "half")]
#[test]
fn halves_of_programs_are_accepted() {
    use half::{bf16, f16};
    let pairs = pairs! {
        [F16, Bf16, f16, bf16, *const F16, *mut Bf16, *const f16, *mut bf16, AnyConst]
        [F16, u16, f16, bf16, *const f16, *mut bf16, &Of<f16>, &mut Of<bf16>, Option<*const f16>]
    };
    let mut accepted = Vec::new();
    for (words, is_accepted, is_named) in pairs.into_iter().flatten() {
        assert_eq!(is_named, is_accepted, "{words}");
        accepted.extend(is_accepted.then_some(*words));
    }
    // A declared parameter may itself have a type of the crate `half`.
    for words in ["f16 for F16", "f16 for f16", "bf16 for bf16", "&Of<f16> for *const F16"] {
        assert!(accepted.contains(&words), "{accepted:?}");
    }
}

/// Kernels for language models have more than 24 arguments.
#[test]
fn tuples_have_up_to_32_elements() {
    macro_rules! tuple {
        (@ $letter:tt) => { f32 };
        ($($letters:tt)*) => { ($(tuple!(@ $letters),)*) };
    }
    fn are_arguments<T: super::Arguments>() {}
    are_arguments::<tuple!(a b c d e f g h i j k l m n o p q r s t u v w x y z 1 2 3 4 5 6)>();
}

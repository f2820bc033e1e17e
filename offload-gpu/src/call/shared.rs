//! Implements arguments and parameters for the types in the module `types`.

use super::alike::with_alike_values;
use super::argument::Argument;
use super::parameter::{Parameter, ParameterLayout};
use crate::types::*;
#[cfg(feature = "half")]
use half::{bf16, f16};

macro_rules! values {
    ($($(#[$feature:meta])? $wanted:ident $value:ident;)*) => {$(
        $(#[$feature])?
        #[diagnostic::do_not_recommend]
        impl Argument<$wanted> for $value {}
    )*};
}

/// Implements `Argument` and `Parameter` for types that are passed as their bytes: numbers, and
/// vectors of numbers.
macro_rules! arguments {
    ($($name:ident)*) => {$(
        crate::impl_argument_of_record!($name);
        arguments!(@number $name);
    )*};
    (@number $name:ident) => {
        impl Parameter for $name {
            const LAYOUT: ParameterLayout = ParameterLayout::of_bits::<$name>(stringify!($name));
        }
    };
    ($($number:ty: $($name:ident)*;)*) => {$($(
        crate::impl_argument_of_record!($name);

        impl Parameter for $name {
            const LAYOUT: ParameterLayout =
                ParameterLayout::of_vector::<$name>(stringify!($name), &<$number>::LAYOUT);
        }
    )*)*};
}

with_alike_values!(values);

arguments! { F16 Bf16 F8E4M3 F8E5M2 F8E4M3Fnuz F8E5M2Fnuz Bool }
arguments! {
    F16: half2;
    Bf16: bfloat162;
    i8: char1 char2 char3 char4;
    u8: uchar1 uchar2 uchar3 uchar4;
    i16: short1 short2 short3 short4;
    u16: ushort1 ushort2 ushort3 ushort4;
    i32: int1 int2 int3 int4;
    u32: uint1 uint2 uint3 uint4;
    i64: long1 long2 long3 long4 longlong1 longlong2 longlong3 longlong4;
    u64: ulong1 ulong2 ulong3 ulong4 ulonglong1 ulonglong2 ulonglong3 ulonglong4;
    f32: float1 float2 float3 float4;
    f64: double1 double2 double3 double4;
}

// For a kernel template whose first type is `bool`: the parameter of the generic function has the
// type that `bool` has in device memory.
#[diagnostic::do_not_recommend]
impl Argument<Bool> for bool {}

/// Expands to its items if offload-gpu has the feature `half`. Only macro expansions use it.
#[cfg(feature = "half")]
#[doc(hidden)]
#[macro_export]
macro_rules! with_half {
    ($($item:item)*) => { $($item)* };
}

/// Expands to its items if offload-gpu has the feature `half`. Only macro expansions use it.
#[cfg(not(feature = "half"))]
#[doc(hidden)]
#[macro_export]
macro_rules! with_half {
    ($($item:item)*) => {};
}

// A program may declare parameters of these types.
#[cfg(feature = "half")]
arguments!(@number f16);
#[cfg(feature = "half")]
arguments!(@number bf16);

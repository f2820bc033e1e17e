//! The types of the module `types` as arguments and parameters.

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

/// Implements `Argument` and `Parameter` for types that are passed as their bytes.
macro_rules! arguments {
    ($($name:ident)*) => {$(
        crate::impl_argument_of_record!($name);
        arguments!(@parameter $name);
    )*};
    (@parameter $name:ident) => {
        impl Parameter for $name {
            const LAYOUT: ParameterLayout =
                ParameterLayout::of_record::<$name>(stringify!($name), size_of::<$name>());
        }
    };
}

with_alike_values!(values);

arguments! {
    F16 Bf16 F8E4M3 F8E5M2 F8E4M3Fnuz F8E5M2Fnuz Bool half2 bfloat162
    char1 char2 char3 char4 uchar1 uchar2 uchar3 uchar4
    short1 short2 short3 short4 ushort1 ushort2 ushort3 ushort4
    int1 int2 int3 int4 uint1 uint2 uint3 uint4
    long1 long2 long3 long4 ulong1 ulong2 ulong3 ulong4
    longlong1 longlong2 longlong3 longlong4 ulonglong1 ulonglong2 ulonglong3 ulonglong4
    float1 float2 float3 float4 double1 double2 double3 double4
}

// The first type of a kernel template's arguments is `bool`, and its parameter is of that type: the
// generic function has the type of all instances' memory there.
#[diagnostic::do_not_recommend]
impl Argument<Bool> for bool {}

/// Contains its items if offload-gpu has the feature `half`. Only macro expansions use it.
#[cfg(feature = "half")]
#[doc(hidden)]
#[macro_export]
macro_rules! with_half {
    ($($item:item)*) => { $($item)* };
}

/// Contains its items if offload-gpu has the feature `half`. Only macro expansions use it.
#[cfg(not(feature = "half"))]
#[doc(hidden)]
#[macro_export]
macro_rules! with_half {
    ($($item:item)*) => {};
}

// A program may declare parameters of these types.
#[cfg(feature = "half")]
arguments!(@parameter f16);
#[cfg(feature = "half")]
arguments!(@parameter bf16);

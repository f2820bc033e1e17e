//! The vectors of CUDA and HIP, with one to four numbers.
//!
//! Source: the CUDA C++ Programming Guide, "Built-in Vector Types". HIP has the same names and the
//! same alignments, except for `long4`, `double4` and similar types.

use super::{Bf16, F16};
use crate::call::{Parameter, ParameterLayout};
use crate::{impl_argument_of_record, impl_buffer_item};
use core::fmt;

macro_rules! vector {
    ($name:ident: $element:ty, $align:literal, $count:literal [$($field:ident)*] $($attribute:tt)*) => {
        #[doc = concat!("A vector: ", $count, " of `", stringify!($element), "`, aligned to ", $align, ".")]
        #[allow(non_camel_case_types)]
        #[derive(Clone, Copy, Default, PartialEq)]
        #[repr(C $($attribute)*)]
        pub struct $name {
            $(#[doc = concat!("The number `", stringify!($field), "`.")] pub $field: $element,)*
        }

        const _: () = assert!(size_of::<$name>() == $count * size_of::<$element>());

        // Programs use few of these types, so with `#[inline]`, rustc generates no code for the
        // rest.
        impl fmt::Debug for $name {
            #[inline]
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($name))$(.field(stringify!($field), &self.$field))*.finish()
            }
        }

        impl From<[$element; $count]> for $name {
            #[inline]
            fn from([$($field),*]: [$element; $count]) -> Self {
                Self { $($field),* }
            }
        }

        impl From<$name> for [$element; $count] {
            #[inline]
            fn from(vector: $name) -> Self {
                [$(vector.$field),*]
            }
        }

        impl_buffer_item!(plain $name);
        impl_argument_of_record!($name);

        impl Parameter for $name {
            const LAYOUT: ParameterLayout =
                ParameterLayout::of_vector::<$name>(stringify!($name), &<$element>::LAYOUT);
        }
    };
}

macro_rules! vectors {
    ($($element:ty, $one:ident $a1:literal, $two:ident $a2:literal, $three:ident, $four:ident $a4:literal;)*) => {$(
        // Vectors of one or three numbers have the alignment of a number.
        vector!($one: $element, $a1, 1 [x]);
        vector!($two: $element, $a2, 2 [x y] , align($a2));
        vector!($three: $element, $a1, 3 [x y z]);
        vector!($four: $element, $a4, 4 [x y z w] , align($a4));
    )*};
}

vectors! {
    i8, char1 1, char2 2, char3, char4 4;
    u8, uchar1 1, uchar2 2, uchar3, uchar4 4;
    i16, short1 2, short2 4, short3, short4 8;
    u16, ushort1 2, ushort2 4, ushort3, ushort4 8;
    i32, int1 4, int2 8, int3, int4 16;
    u32, uint1 4, uint2 8, uint3, uint4 16;
    i64, long1 8, long2 16, long3, long4 16;
    u64, ulong1 8, ulong2 16, ulong3, ulong4 16;
    i64, longlong1 8, longlong2 16, longlong3, longlong4 16;
    u64, ulonglong1 8, ulonglong2 16, ulonglong3, ulonglong4 16;
    f32, float1 4, float2 8, float3, float4 16;
    f64, double1 8, double2 16, double3, double4 16;
}

vector!(half2: F16, 4, 2 [x y] , align(4));
vector!(bfloat162: Bf16, 4, 2 [x y] , align(4));

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;

    #[test]
    fn vectors_are_made_of_arrays() {
        let vector = float4::from([1.0, 2.0, 3.0, 4.0]);
        assert_eq!((vector.x, vector.w), (1.0, 4.0));
        assert_eq!(<[f32; 4]>::from(vector), [1.0, 2.0, 3.0, 4.0]);
        assert_eq!(float4::default(), [0.0; 4].into());
        assert_eq!(size_of::<[uchar3; 5]>(), 15);
        assert_eq!(format!("{:?}", uchar2::from([1, 2])), "uchar2 { x: 1, y: 2 }");
    }
}

//! 8- and 16-bit number types, stored as raw bits, and `bool` in device memory.

use crate::call::{Parameter, ParameterLayout};
use crate::{impl_argument_of_record, impl_buffer_item};
use core::fmt;

macro_rules! bits {
    ($($(#[$doc:meta])* $name:ident: $bits:ident, $digits:literal;)*) => {$(
        $(#[$doc])*
        ///
        /// A value consists of its bits, and values are equal if their bits are equal. A kernel
        /// also accepts the
        #[doc = concat!("bits, a `", stringify!($bits), "`, and pointers to them.")]
        #[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
        #[repr(transparent)]
        pub struct $name($bits);

        impl $name {
            /// Returns the number with these bits.
            #[inline]
            pub const fn from_bits(bits: $bits) -> Self {
                Self(bits)
            }

            /// Returns the number's bits.
            #[inline]
            pub const fn to_bits(self) -> $bits {
                self.0
            }
        }

        impl fmt::Debug for $name {
            #[inline]
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({:#0", $digits, "x})"), self.0)
            }
        }

        impl_buffer_item!(plain $name);
        impl_argument_of_record!($name);

        impl Parameter for $name {
            const LAYOUT: ParameterLayout = ParameterLayout::of_bits::<$name>(stringify!($name));
        }
    )*};
}

bits! {
    /// A 16-bit IEEE 754 number: `__half`, `_Float16`.
    F16: u16, 6;
    /// The upper half of an `f32`: `__nv_bfloat16`, `__hip_bfloat16`, `__bf16`.
    Bf16: u16, 6;
    /// A number with 4 exponent and 3 fraction bits: `__nv_fp8_e4m3`, `__hip_fp8_e4m3`.
    F8E4M3: u8, 4;
    /// A number with 5 exponent and 2 fraction bits: `__nv_fp8_e5m2`, `__hip_fp8_e5m2`.
    F8E5M2: u8, 4;
    /// `__hip_fp8_e4m3_fnuz`, which has no infinity and one zero.
    F8E4M3Fnuz: u8, 4;
    /// `__hip_fp8_e5m2_fnuz`, which has no infinity and one zero.
    F8E5M2Fnuz: u8, 4;
}

/// A `bool` in device memory, where it may be any byte. All bytes except 0 are true.
///
/// Buffers of `u8` and pointers to `u8` and `bool` may also be passed for a `bool *`.
///
/// Source: the C++ standard, [conv.bool] and [basic.fundamental].
#[derive(Clone, Copy, Default)]
#[repr(transparent)]
pub struct Bool(u8);

impl Bool {
    /// Returns whether the byte is not 0.
    #[inline]
    pub const fn get(self) -> bool {
        self.0 != 0
    }
}

impl From<bool> for Bool {
    #[inline]
    fn from(value: bool) -> Self {
        Self(u8::from(value))
    }
}

impl From<Bool> for bool {
    #[inline]
    fn from(value: Bool) -> Self {
        value.get()
    }
}

impl PartialEq for Bool {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}

impl Eq for Bool {}

impl fmt::Debug for Bool {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.get().fmt(f)
    }
}

impl_buffer_item!(plain Bool);
impl_argument_of_record!(Bool);

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;

    #[test]
    fn values_are_their_bits() {
        assert_eq!(
            format!("{:?} {:?}", F16::from_bits(0xc0), F8E5M2::from_bits(7)),
            "F16(0x00c0) F8E5M2(0x07)"
        );
        assert_eq!(Bf16::from_bits(0x3f80).to_bits(), 0x3f80);
        assert_ne!(F16::from_bits(0), F16::from_bits(0x8000), "the bits of the two zeros");
    }

    #[test]
    fn any_byte_is_a_truth_value() {
        let all = [0, 1, 2, 255].map(Bool);
        assert_eq!(all.map(Bool::get), [false, true, true, true]);
        assert_eq!(all[1], all[3]);
        assert_eq!(format!("{:?}", [Bool::from(true), Bool::default()]), "[true, false]");
    }
}

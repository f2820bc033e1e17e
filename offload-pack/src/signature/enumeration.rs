//! Enumerations: integers with names for some of their values.

use super::types::Scalar;
use alloc::string::String;
use alloc::vec::Vec;

/// An enumeration in a source that is the type of a parameter, a field or a pointee. In Rust, its
/// values have the enumeration's integer type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Enumeration {
    /// The enumeration's name in Rust.
    pub name: String,
    /// The enumeration's name in the source.
    pub source_name: String,
    /// The integer type of the values.
    pub ty: Scalar,
    /// The named values, in the order of the source.
    pub values: Vec<Enumerator>,
}

/// A name for a value of an enumeration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Enumerator {
    /// The value's name in Rust.
    pub name: String,
    /// The value.
    pub value: i128,
}

impl Scalar {
    /// Whether an integer of this type can have the value; false for floating-point numbers and
    /// booleans.
    #[inline]
    pub fn has_value(self, value: i128) -> bool {
        match self {
            Scalar::I8 => i8::try_from(value).is_ok(),
            Scalar::U8 => u8::try_from(value).is_ok(),
            Scalar::I16 => i16::try_from(value).is_ok(),
            Scalar::U16 => u16::try_from(value).is_ok(),
            Scalar::I32 => i32::try_from(value).is_ok(),
            Scalar::U32 => u32::try_from(value).is_ok(),
            Scalar::I64 | Scalar::Isize => i64::try_from(value).is_ok(),
            Scalar::U64 | Scalar::Usize => u64::try_from(value).is_ok(),
            Scalar::I128 => true,
            Scalar::U128 => value >= 0,
            Scalar::Bool | Scalar::F16 | Scalar::Bf16 | Scalar::F32 | Scalar::F64 => false,
        }
    }
}

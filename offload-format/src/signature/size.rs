//! Sizes and alignments.

#[cfg(feature = "read")]
use super::types::Scalar;

/// The size and the alignment of a value.
///
/// The format and its references are on the [module's page](super).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// The number of bytes, including the padding at the end.
    pub bytes: u64,
    /// The alignment of the value's address in bytes, a power of two.
    pub align: u64,
}

#[cfg(feature = "read")]
impl Scalar {
    /// Returns the scalar's size, which is also its alignment.
    pub fn bytes(self) -> u64 {
        match self {
            Scalar::Bool | Scalar::I8 | Scalar::U8 => 1,
            Scalar::I16 | Scalar::U16 | Scalar::F16 | Scalar::Bf16 => 2,
            Scalar::I32 | Scalar::U32 | Scalar::F32 => 4,
            Scalar::I64 | Scalar::U64 | Scalar::Isize | Scalar::Usize | Scalar::F64 => 8,
            Scalar::I128 | Scalar::U128 => 16,
        }
    }
}

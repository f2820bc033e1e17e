//! Types, and their text: `i32`, `*const f32`, `[u16; 3]`, `float4`.

use alloc::boxed::Box;
use alloc::string::{String, ToString};
use core::fmt;

/// The type of a parameter, a field or a pointee.
///
/// The text form is Rust's syntax for types, with the additional names `f16`, `bf16` and `void`.
/// Any other name is the name of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Type {
    /// A number or a boolean.
    Scalar(Scalar),
    /// A pointer to device memory, or a C++ reference, which is passed like a pointer.
    Pointer {
        /// Whether the kernel may write through the pointer.
        is_mutable: bool,
        /// The type that the pointer points to.
        to: Box<Type>,
    },
    /// An array, as the type of a field or a pointee.
    Array {
        /// The type of the array's elements.
        of: Box<Type>,
        /// The number of the array's elements.
        count: u64,
    },
    /// A record, given by its name in Rust.
    Record(String),
    /// The pointee of a `void` pointer.
    Void,
}

/// A number or a boolean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are self-explanatory")]
pub enum Scalar {
    Bool,
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    I64,
    U64,
    I128,
    U128,
    /// A signed integer with the size of a pointer: `ptrdiff_t`.
    Isize,
    /// An unsigned integer with the size of a pointer: `size_t`.
    Usize,
    /// A 16-bit IEEE 754 number.
    F16,
    /// A 16-bit floating-point number: the upper half of an `f32`.
    Bf16,
    F32,
    F64,
}

impl Scalar {
    /// All scalars with their names.
    pub(crate) const ALL: [(&'static str, Scalar); 17] = [
        ("bool", Scalar::Bool),
        ("i8", Scalar::I8),
        ("u8", Scalar::U8),
        ("i16", Scalar::I16),
        ("u16", Scalar::U16),
        ("i32", Scalar::I32),
        ("u32", Scalar::U32),
        ("i64", Scalar::I64),
        ("u64", Scalar::U64),
        ("i128", Scalar::I128),
        ("u128", Scalar::U128),
        ("isize", Scalar::Isize),
        ("usize", Scalar::Usize),
        ("f16", Scalar::F16),
        ("bf16", Scalar::Bf16),
        ("f32", Scalar::F32),
        ("f64", Scalar::F64),
    ];

    /// Returns the scalar's name: Rust's name, `f16` or `bf16`.
    #[inline]
    pub fn name(self) -> &'static str {
        let known = Scalar::ALL.iter().find(|(_, scalar)| *scalar == self);
        known.map_or("", |(name, _)| name)
    }
}

/// The size and the alignment of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// The number of bytes, including the padding at the end.
    pub bytes: u64,
    /// The alignment of the value's address in bytes, a power of two.
    pub align: u64,
}

pub(super) const VOID: &str = "void";

impl fmt::Display for Type {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Type::Scalar(scalar) => f.write_str(scalar.name()),
            Type::Pointer { is_mutable: true, to } => write!(f, "*mut {to}"),
            Type::Pointer { is_mutable: false, to } => write!(f, "*const {to}"),
            Type::Array { of, count } => write!(f, "[{of}; {count}]"),
            Type::Record(name) => f.write_str(name),
            Type::Void => f.write_str(VOID),
        }
    }
}

/// The maximum nesting depth that the stack is large enough for. Types in sources may be nested
/// deeper.
const DEEPEST: usize = 32;

impl Type {
    /// Returns whether a pointer to this type, or an array of this type, could be read back from
    /// its text form.
    pub fn may_be_nested(&self) -> bool {
        let (mut ty, mut levels) = (self, 1);
        while let Type::Pointer { to: inner, .. } | Type::Array { of: inner, .. } = ty {
            (ty, levels) = (inner, levels + 1);
        }
        levels < DEEPEST
    }

    /// Reads the text form; returns `None` if the text is not a type, or if it is nested too deep.
    #[inline]
    pub(crate) fn parse(text: &str) -> Option<Self> {
        parse(text, DEEPEST)
    }
}

#[inline]
fn parse(text: &str, deepest: usize) -> Option<Type> {
    let inner = deepest.checked_sub(1)?;
    for (start, is_mutable) in [("*mut ", true), ("*const ", false)] {
        if let Some(rest) = text.strip_prefix(start) {
            return Some(Type::Pointer { is_mutable, to: Box::new(parse(rest, inner)?) });
        }
    }
    if let Some(rest) = text.strip_prefix('[') {
        let (of, count) = rest.strip_suffix(']')?.rsplit_once("; ")?;
        return Some(Type::Array { of: Box::new(parse(of, inner)?), count: count.parse().ok()? });
    }
    if let Some((_, scalar)) = Scalar::ALL.iter().find(|(name, _)| *name == text) {
        return Some(Type::Scalar(*scalar));
    }
    let is_name = !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    match text {
        VOID => Some(Type::Void),
        _ => is_name.then(|| Type::Record(text.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;

    #[test]
    fn what_is_written_is_read() {
        let texts = [
            "i32",
            "*const f32",
            "*mut *const void",
            "[[u16; 3]; 4]",
            "float4",
            "*mut [bf16; 2]",
            "bool",
            "*const usize",
            "[isize; 2]",
        ];
        for text in texts {
            assert_eq!(Type::parse(text).unwrap().to_string(), text);
        }
    }

    #[test]
    fn what_is_no_type_is_refused() {
        for text in ["", "*f32", "[u8; x]", "[u8]", "a b", "*const ", "ns::P"] {
            assert_eq!(Type::parse(text), None, "{text}");
        }
        assert_eq!(Type::parse(&"*mut ".repeat(100_000)), None);
        for (levels, may_be_nested) in [(30, true), (31, false)] {
            let ty = Type::parse(&format!("{}i32", "*mut ".repeat(levels))).unwrap();
            assert_eq!(ty.may_be_nested(), may_be_nested);
            assert_eq!(Type::parse(&format!("[{ty}; 2]")).is_some(), may_be_nested);
        }
    }
}

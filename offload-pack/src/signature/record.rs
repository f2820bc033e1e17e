//! Named types of parameters: structs, classes, unions and vectors.

use super::types::{Size, Type};
use alloc::string::String;
use alloc::vec::Vec;

/// A struct, class, union or vector that is the type of a parameter or that a pointer refers to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// The record's name in Rust.
    pub name: String,
    /// The record's name in the source.
    pub source_name: String,
    /// The record's size; `None` if only pointers refer to the record.
    pub size: Option<Size>,
    /// The content of the record.
    pub content: Content,
}

/// The content of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// Content that host code cannot access, because no Rust struct has the same layout, or the
    /// fields are unknown.
    Opaque,
    /// No data, or only empty records. The bytes of such a record have no value.
    Empty,
    /// Content that host code cannot access, because it differs between targets. The size is also
    /// unknown.
    Differs,
    /// Fields in the order of offsets, each at the next multiple of its alignment. The record's
    /// alignment may be greater than that of any field.
    Fields(Vec<Field>),
    /// Fields in the order of offsets, without any padding.
    Packed(Vec<Field>),
}

/// A field of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// The field's name in Rust.
    pub name: String,
    /// The field's offset in bytes from the start of the record.
    pub offset: u64,
    /// The field's type.
    pub ty: Type,
}

impl Content {
    /// Returns the fields; `None` for content that host code cannot access.
    #[inline]
    pub fn fields(&self) -> Option<&[Field]> {
        match self {
            Content::Fields(fields) | Content::Packed(fields) => Some(fields),
            Content::Opaque | Content::Empty | Content::Differs => None,
        }
    }
}

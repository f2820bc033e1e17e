//! Signatures of kernels: the arguments of a launch, in types that host code has, too.
//!
//! The text of [`Signatures`] is the project's own format; only its index of a pack contains it.
//!
//! | item | is |
//! |---|---|
//! | [`Signatures`] | all that is known of a module |
//! | [`Signature`], [`Parameter`] | a kernel of a source |
//! | [`Type`] | the type of a parameter, a field or what a pointer points to |
//! | [`Record`], [`Content`], [`Field`] | a type with a name: a struct, a vector, a union |
//! | [`Size`] | size and alignment in bytes |
//! | [`identifier`], [`Identifiers`] | names that Rust can have |
//!
//! Types are those of the device. They have the sizes and alignments of the host's types: device
//! compilers guarantee that.

mod identifier;
mod record;
mod size;
mod text;
mod types;

pub use identifier::{Identifiers, identifier};
pub use record::{Content, Field, Record};
pub use size::Size;
pub use text::LineError;
pub use types::{Scalar, Type, TypeError};

use alloc::string::String;
use alloc::vec::Vec;

/// The known signatures of the kernels of a module.
///
/// The format and its sources are on the [module's page](self).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Signatures {
    /// The kernels, in the order of the sources. The list has each name once.
    pub kernels: Vec<Signature>,
    /// The records that their types name. The list has each name once.
    pub records: Vec<Record>,
}

/// A kernel of a source.
///
/// The format and its sources are on the [module's page](self).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signature {
    /// Its name in images, mangled if the source is C++.
    pub symbol: String,
    /// Its name in Rust.
    pub name: String,
    /// Its name in the source, with namespaces and the arguments of a template:
    /// `ns::scale<float, 3>`.
    pub source_name: String,
    /// The file and the line where it is defined, `kernels/scale.cu:21`. The file's path is
    /// relative to the package.
    pub place: String,
    /// The lines of the comment above it, without the signs of comments.
    pub comment: Vec<String>,
    /// Its parameters, in order.
    pub parameters: Vec<Parameter>,
    /// The differences between the source and an image about the arguments, a line for each.
    pub difference: Vec<String>,
}

/// A parameter of a kernel.
///
/// The format and its sources are on the [module's page](self).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parameter {
    /// Its name in Rust.
    pub name: String,
    /// Its type.
    pub ty: Type,
}

impl Signature {
    /// Returns the place of each parameter among the arguments, and its size: each is at the next
    /// multiple of its alignment.
    ///
    /// `None` if the size of a type is not known, or if the arguments are too large to be counted.
    pub fn layout(&self, records: &[Record]) -> Option<Vec<(u64, Size)>> {
        let mut end: u64 = 0;
        let place = |parameter: &Parameter| {
            let size = parameter.ty.size(records)?;
            let offset = end.checked_next_multiple_of(size.align)?;
            end = offset.checked_add(size.bytes)?;
            Some((offset, size))
        };
        self.parameters.iter().map(place).collect()
    }
}

//! Signatures of kernels, and variables of device code, described with types that host code also
//! has.
//!
//! The text form of [`Signatures`] is a format of this project, used only in the index of a pack.
//!
//! | item | description |
//! |---|---|
//! | [`Signatures`] | everything that is known about a module |
//! | [`Signature`], [`Parameter`] | a kernel in a source |
//! | [`Template`], [`TemplateArgument`], [`TemplateValue`] | the template of a kernel, and its arguments |
//! | [`Variable`], [`Obstacle`] | a variable in a source, and the reason why host code cannot access it |
//! | [`Type`] | the type of a parameter, a variable, a field or a pointee |
//! | [`Record`], [`Content`], [`Field`] | a named type: a struct, a vector, a union |
//! | [`Enumeration`], [`Enumerator`] | names for integers |
//! | [`Comparison`], [`describe`] | compares the types in two descriptions of kernels; types as text |
//! | [`Size`] | size and alignment in bytes |
//! | [`local_symbol`], [`is_same_symbol`], [`place_of`] | the symbols of kernels that are `static` |
//! | [`identifier`], [`field_identifier`], [`Identifiers`] | valid names in Rust |
//!
//! Programs (without the `expansion` feature) read signatures only together with packs from disk.
//! The functions that read them are `#[inline]`, so only programs that call them compile them.
//!
//! The types describe values on the device. Device compilers guarantee that these types have the
//! same sizes and alignments on the host.

mod compare;
mod enumeration;
mod identifier;
#[cfg(feature = "expansion")]
mod layout;
mod record;
#[cfg(feature = "expansion")]
mod shared;
mod template;
mod text;
mod types;
mod variable;
#[cfg(feature = "expansion")]
mod write;

pub(crate) use compare::describe_type;
pub use compare::{Comparison, describe};
pub use enumeration::{Enumeration, Enumerator};
pub use identifier::{Identifiers, field_identifier, identifier};
pub use record::{Content, Field, Record};
#[cfg(feature = "expansion")]
pub use shared::{Shared, shared};
pub use template::{Template, TemplateArgument, TemplateValue};
pub use text::LineError;
#[cfg(all(test, feature = "expansion"))]
pub(crate) use text::tests;
pub use types::{Scalar, Size, Type};
pub use variable::{Obstacle, Variable};

use alloc::string::String;
use alloc::vec::Vec;

/// The known signatures of a module's kernels, and its variables.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Signatures {
    /// The kernels, in the order of the sources. Each name occurs only once in the list.
    pub kernels: Vec<Signature>,
    /// The records that the types of kernels and variables refer to. Each name occurs only once in
    /// the list.
    pub records: Vec<Record>,
    /// The enumerations among the kernels' types. Each name occurs only once in the list, and is
    /// not a record's name.
    pub enumerations: Vec<Enumeration>,
    /// The variables, in the order of the sources. Each name occurs only once in the list.
    pub variables: Vec<Variable>,
}

impl Signatures {
    /// Whether nothing is known about the module.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// A kernel of a source.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Signature {
    /// The kernel's name in images, mangled if the source is C++.
    pub symbol: String,
    /// The kernel's name in Rust.
    pub name: String,
    /// The kernel's name in the source, with namespaces and template arguments: `ns::scale<float,
    /// 3>`.
    pub source_name: String,
    /// The template that the kernel is an instance of. `None` for other kernels, or if an argument
    /// cannot be written in Rust.
    pub template: Option<Template>,
    /// The file and the line of the kernel's definition: `kernels/scale.cu:21`. The file's path is
    /// relative to the package.
    pub place: String,
    /// The lines of the comment above the kernel, without comment signs.
    pub comment: Vec<String>,
    /// The kernel's parameters, in order.
    pub parameters: Vec<Parameter>,
    /// The differences between the arguments in the source and in an image, one per line.
    pub difference: Vec<String>,
}

/// Splits the symbol of a local kernel (`static`, or in an anonymous namespace) into the name and
/// the hash. Returns `None` for other symbols.
///
/// In images for GPUs, clang appends a word and a hash to the name. The word differs between
/// versions of clang and between kinds of targets; the hash is computed from the source's number in
/// the module. Images for the CPU have only the name.
#[inline]
pub fn local_symbol(symbol: &str) -> Option<(&str, &str)> {
    let words = [".intern.", "__intern__", ".static.", "__static__"];
    let (name, hash) = words.iter().find_map(|word| symbol.rsplit_once(word))?;
    let is_hash = hash.bytes().all(|byte| byte.is_ascii_hexdigit());
    (name.starts_with("_Z") && is_hash).then_some((name, hash))
}

/// Returns the index of a kernel in a list that is sorted by symbols. `kernel` is the kernel's
/// symbol in the list, or its symbol for a different kind of target.
#[inline]
pub fn place_of<T>(kernels: &[T], symbol: fn(&T) -> &str, kernel: &str) -> Option<usize> {
    if let Ok(at) = kernels.binary_search_by(|it| symbol(it).cmp(kernel)) {
        return Some(at);
    }
    let local = local_symbol(kernel)?;
    for (at, it) in kernels.iter().enumerate() {
        if symbol(it).starts_with(local.0) && local_symbol(symbol(it)) == Some(local) {
            return Some(at);
        }
    }
    None
}

/// Whether the two symbols may belong to the same kernel in images for two kinds of targets.
#[inline]
pub fn is_same_symbol(one: &str, other: &str) -> bool {
    one == other || local_symbol(one).is_some_and(|it| local_symbol(other) == Some(it))
}

/// A parameter of a kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parameter {
    /// The parameter's name in Rust.
    pub name: String,
    /// The parameter's type.
    pub ty: Type,
}

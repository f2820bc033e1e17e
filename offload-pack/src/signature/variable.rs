//! Variables of device code that host code reads and writes.

use super::types::Type;
use alloc::string::String;
use alloc::vec::Vec;

/// A variable of a source, in the memory of a device: `__constant__` or `__device__`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variable {
    /// The variable's name in images, mangled if the source is C++.
    pub symbol: String,
    /// The name of the variable's constant in Rust, such as `NS_TABLE`.
    pub name: String,
    /// The variable's name in the source, with namespaces and template arguments: `ns::table`.
    pub source_name: String,
    /// The file and the line of the definition: `kernels/scale.cu:21`. The file's path is relative
    /// to the package.
    pub place: String,
    /// The lines of the comment above the variable, without comment signs.
    pub comment: Vec<String>,
    /// The variable's type.
    pub ty: Type,
    /// The reason why host code cannot access the variable; `None` if host code can access it.
    pub obstacle: Option<Obstacle>,
}

/// The reason why host code cannot access a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Obstacle {
    /// The variable is `static` or in an anonymous namespace, so no image exports its symbol.
    Static,
    /// The variable has different types for different targets.
    Differs,
}

impl Obstacle {
    /// All obstacles with their words in the text form.
    pub(super) const ALL: [(&'static str, Obstacle); 2] =
        [("static", Obstacle::Static), ("differs", Obstacle::Differs)];
}

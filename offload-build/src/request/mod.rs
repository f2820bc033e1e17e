//! Describes what build.rs can request: sources, modules, their options, compilers and targets.

mod compiler;
mod language;
mod module;
mod options;
mod selector;
mod setters;
mod source;

pub use compiler::Compiler;
pub use language::Language;
pub use module::Module;
pub use source::Source;

pub(crate) use language::{Headers, Recipe};
pub(crate) use module::RequiredKernel;
pub(crate) use options::{Options, Request};
pub(crate) use selector::{Selector, allow};
pub(crate) use setters::{setters_of_modules, setters_of_sources};

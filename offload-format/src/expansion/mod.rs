//! Rust code for a pack: the pack itself, a function for each kernel, and structs for the records
//! among the parameters. `include_kernels!` and `include_offload!` put the code into a program.
//!
//! [`kernels`] returns text such as this, which is shortened here:
//!
//! ```text
//! pub static PACK: __offload::KernelPack<__offload::Plain> = { … };
//! pub struct Range { … }
//! mod __offload_items {
//!     use super::{__offload, Range};
//!     pub const __offload_module: … = __offload::module(&super::PACK, 0);
//!     pub mod __offload_arguments { pub mod saxpy { pub trait n_1_4<T>: … {} … } }
//!     pub mod __offload_calls { pub type Call_4_24 = __offload::Call<4, 24, …>; }
//!     fn __offload_call_0<…>(…) -> __offload_calls::Call_4_24 { … }
//!     pub fn saxpy(n: impl __offload_arguments::saxpy::n_1_4<i32>, …)
//!         -> __offload_calls::Call_4_24 { … }
//! }
//! pub use self::__offload_items::{saxpy};
//! ```
//!
//! The scope around the text has `__offload`, the hidden module of the crate `offload-gpu`. All
//! types of the text are paths through this name, because a program may have its own `u8` or
//! `core`. Functions are imports from a hidden module: a constant of the user's module would be a
//! pattern in the place of a parameter. Records are outside of it, because the compiler shows their
//! paths in messages. All names but those of a source begin with `__offload`, as no name from a
//! source does.
//!
//! A pack may have thousands of kernels, and rustc compiles all of their functions in each build of
//! the crate. Each function is small. Traits, the returned type and the code that stores arguments
//! are shared.

mod calls;
mod module;
mod passing;
mod records;
mod tables;

pub use tables::{pack, tables};

use crate::pack_index::{Index, IndexModule};
use crate::signature::{LineError, Signature, Signatures, identifier};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Write as _;

/// A kernel that a program declares. The code and its references are on the [module's page](self).
///
/// The scope around the code has a type for each name of a [`Type::Record`] in the signature, the
/// kernel's [`layout`](Declared::layout), and the modules `__offload_kernels` and
/// `__offload_parameters` with types for names in messages.
#[derive(Debug)]
pub struct Declared {
    /// The kernel with its parameters. The names are Rust's, and may be raw.
    pub signature: Signature,
    /// The attributes of the function, as Rust code.
    pub attributes: String,
}

impl Declared {
    /// Returns the name of the constant with the offsets of the arguments, a `Layout`.
    pub fn layout(&self) -> String {
        format!("__offload_layout_of_{}", unraw(&self.signature.name))
    }
}

/// Returns a name without the `r#` of a raw identifier.
fn unraw(name: &str) -> &str {
    name.strip_prefix("r#").unwrap_or(name)
}

/// A module of a pack, with all that is known of its kernels.
///
/// The code and its references are on the [module's page](self).
#[derive(Debug)]
pub struct Module<'a> {
    /// The module with its images.
    pub index: &'a IndexModule,
    /// The signatures that the build has read from sources.
    pub signatures: Signatures,
    /// The kernels that the program declares. They replace those of the sources.
    pub declared: Vec<Declared>,
}

impl<'a> Module<'a> {
    /// Returns a module without declared kernels. The index has its signatures.
    ///
    /// Returns an error if the signatures cannot be read.
    pub fn of(index: &'a IndexModule) -> Result<Self, LineError> {
        Ok(Self { index, signatures: index.signatures.parse()?, declared: Vec::new() })
    }
}

/// Returns the items for a pack, as Rust code. `value` is the expression for the pack, and `form`
/// the name of its form: `Plain` or `Compressed`. A module with declared kernels begins with the
/// name [`hole`], which is to be replaced by items for them.
pub fn kernels(name: &str, modules: &[Module<'_>], form: &str, value: &str) -> String {
    let mut text = String::new();
    if let Some(message) = unknown(name, modules) {
        // rustdoc reads no function bodies, so documentation needs no functions.
        let _ =
            writeln!(text, "#[cfg(not(doc))] __offload::core::compile_error! {{ {message:?} }}");
    }
    let doc = format!("The pack `{name}`.");
    let _ = writeln!(
        text,
        "#[doc = {doc:?}] pub static PACK: __offload::KernelPack<__offload::{form}> = {value};"
    );
    for (number, module) in modules.iter().enumerate() {
        let has_declared = !module.declared.is_empty();
        let hole = if has_declared { hole(number) } else { String::new() };
        if is_alone(name, modules.len(), module.index) {
            text.extend([&*hole, " ", &module::items(module, number, false, form)]);
            continue;
        }
        let IndexModule { name, .. } = module.index;
        let doc = format!("The kernels of the module `{name}`.");
        // Declarations may use types from the scope around the macro.
        let outer = ["super", if has_declared { "*" } else { "__offload" }].join("::");
        let (name, items) = (identifier(name), module::items(module, number, true, form));
        let _ = writeln!(text, "#[doc = {doc:?}] pub mod {name} {{ use {outer};\n{hole} {items}}}");
    }
    text
}

/// Returns the code of `include_kernels!` with the name of a pack alone.
pub fn of(index: &Index, modules: &[Module<'_>]) -> String {
    let form = if index.is_compressed() { "Compressed" } else { "Plain" };
    kernels(index.name(), modules, form, &pack(index, form, "", false))
}

/// Whether the code of a module is in the pack's Rust module, and not in one of its own: the module
/// is the only one of `count`, or has the pack's name.
pub fn is_alone(pack: &str, count: usize, module: &IndexModule) -> bool {
    count == 1 || module.name == pack
}

/// Returns the name that stands in the code for items about the declared kernels of a module.
pub fn hole(module: usize) -> String {
    format!("__offload_declared_{module}")
}

/// Returns the error for a pack with modules about whose kernels nothing is known, if the program
/// declares no kernels. Each call of a
/// kernel would be an error that does not contain the reason.
fn unknown(pack: &str, modules: &[Module<'_>]) -> Option<String> {
    if modules.iter().any(|module| !module.declared.is_empty()) {
        return None;
    }
    let has_names =
        |module: &IndexModule| module.images.iter().any(|image| image.kernels.is_some());
    let module = modules.iter().find(|module| !has_names(module.index))?;
    let why = module.index.signatures_unknown.as_ref()?;
    Some(format!(
        "the parameters of the kernels of the pack \"{pack}\" are not known, so there are no functions for them: {why}\n\
         build with clang; or store the parameters in the package, on a machine with clang: OFFLOAD_PREBUILT=signatures cargo \
         build; or declare the kernels: include_kernels!(\"{pack}\", extern {{ fn scale(n: i32, x: *mut f32); }}). \
         include_offload!(\"{pack}\") embeds the pack without functions"
    ))
}

#[cfg(test)]
mod tests;

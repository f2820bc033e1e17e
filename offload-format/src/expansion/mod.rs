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

use crate::pack_index::IndexModule;
use crate::signature::{LineError, Signature, identifier};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Write as _;
use module::Module;

/// The variable that makes development builds read packs from disk.
pub const FROM_DISK: &str = "OFFLOAD_FROM_DISK";

/// An item that makes Cargo build the crate again when [`FROM_DISK`] changes.
pub const IS_TRACKED: &str = "const _: __offload::core::option::Option<&__offload::core::primitive::str> = \
                              __offload::core::option_env!(\"OFFLOAD_FROM_DISK\");\n";

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

/// Returns the items for a pack, as Rust code. `value` is the expression for the pack, and `form`
/// the name of its form: `Plain` or `Compressed`. `declared` has the declared kernels of each
/// module; if there are any, each module begins with the name [`hole`], which is to be replaced by
/// items for them.
///
/// Returns an error if the signatures of a module cannot be read.
pub fn kernels(
    name: &str,
    modules: &[IndexModule],
    form: &str,
    value: &str,
    declared: &[Vec<Declared>],
) -> Result<String, LineError> {
    let mut text = String::new();
    if let Some(message) = unknown(name, modules).filter(|_| declared.iter().all(Vec::is_empty)) {
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
        let signatures = module.signatures.parse()?;
        let declared = declared.get(number).map_or(&[][..], Vec::as_slice);
        let is_nested = is_nested(name, modules, module);
        let IndexModule { name, images, .. } = module;
        let (images, signatures) = (&**images, &signatures);
        let items = Module { number, is_nested, form, images, signatures, declared }.items();
        let hole = if declared.is_empty() { String::new() } else { hole(number) };
        if is_nested {
            let doc = format!("The kernels of the module `{name}`.");
            // Declarations may use types from the scope around the macro.
            let outer = if declared.is_empty() { "__offload" } else { "*" };
            let name = identifier(name);
            let _ = writeln!(
                text,
                "#[doc = {doc:?}] pub mod {name} {{ use super::{outer};\n{hole} {items}}}"
            );
        } else {
            text.extend([&*hole, " ", &items]);
        }
    }
    Ok(text)
}

/// Whether the code of a module is in a Rust module of its own. The only module of a pack, and the
/// module with the pack's name, need none.
pub fn is_nested(pack: &str, modules: &[IndexModule], module: &IndexModule) -> bool {
    module.name != pack && modules.len() > 1
}

/// Returns the name that stands in the code for items about the declared kernels of a module.
pub fn hole(module: usize) -> String {
    format!("__offload_declared_{module}")
}

/// Returns the error for a pack with modules about whose kernels nothing is known. Each call of a
/// kernel would be an error that does not contain the reason.
fn unknown(pack: &str, modules: &[IndexModule]) -> Option<String> {
    let has_names =
        |module: &IndexModule| module.images.iter().any(|image| image.kernels.is_some());
    let module = modules.iter().find(|module| !has_names(module))?;
    let why = module.signatures_unknown.as_ref()?;
    Some(format!(
        "the parameters of the kernels of the pack \"{pack}\" are not known, so there are no functions for them: {why}\n\
         build with clang; or store the parameters in the package, on a machine with clang: OFFLOAD_PREBUILT=signatures cargo \
         build; or declare the kernels: include_kernels!(\"{pack}\", extern {{ fn scale(n: i32, x: *mut f32); }}). \
         include_offload!(\"{pack}\") embeds the pack without functions"
    ))
}

#[cfg(test)]
mod tests;

//! Rust code for a pack: the pack itself, a function for each kernel, and structs for the records
//! among the parameters. `include_kernels!` and `include_offload!` put the code into a program.
//!
//! [`of`] returns text such as this, which is shortened here:
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
//!     pub fn named(name: &str) -> Result<__offload::NamedKernel<…>, __offload::CallError> { … }
//! }
//! pub use self::__offload_items::{named, saxpy};
//! pub const TABLE: __offload::Variable<'static, [f32; 256], f32, …> = …;
//! ```
//!
//! All other items of `__offload_items` are hidden from rustdoc, which documents private items of
//! programs, too. rustdoc shows imports in public modules as if the functions were there.
//!
//! The scope around the text has `__offload`, the hidden module of the crate `offload-gpu`. All
//! types of the text are paths through this name, because a program may have its own `u8` or
//! `core`. Functions are imports from a hidden module: a constant of the user's module would be a
//! pattern in place of a parameter. Records are outside it, because the compiler shows their
//! paths in messages. All names but those of a source begin with `__offload`, as no name from a
//! source does.
//!
//! A pack may have thousands of kernels, and rustc compiles all of their functions in each build of
//! the crate. Each function is small. Traits, the returned type and the code that stores arguments
//! are shared.

mod calls;
mod code;
mod module;
mod named;
mod overrides;
mod records;
mod tables;
mod templates;
mod variables;

pub use module::items;
pub use tables::{pack, tables};

use crate::pack_index::{Index, IndexModule};
use crate::signature::{Signature, identifier};
use alloc::format;
use alloc::string::String;
use core::fmt::Write as _;

/// The function in each module of kernels that finds a kernel by its name; no kernel's function may
/// have this name.
pub const NAMED: &str = "named";

/// A kernel that a program declares. The code and its references are on the [module's page](self).
///
/// The scope around the code has a type for each name of a `Type::Record` in the signature, the
/// kernel's [`layout`](Declared::layout), and the modules `__offload_kernels` and
/// `__offload_parameters` with types for names in messages.
#[derive(Debug)]
pub struct Declared {
    /// The kernel with its parameters. The names are Rust's, and may be raw.
    pub signature: Signature,
    /// The attributes of the function, as Rust code.
    pub attributes: String,
}

/// A type of the program that takes the place of a record's struct. The code and its references
/// are on the [module's page](self).
#[derive(Debug)]
pub struct Override {
    /// The record's name in Rust.
    pub record: String,
    /// The name of the program's type in the scope around the code of the pack; `None` if it has
    /// the record's name in the scope around the code of the module.
    pub ty: Option<String>,
}

impl Declared {
    /// Returns the name of the constant with the offsets of the arguments, a `Layout`.
    pub fn layout(&self) -> String {
        format!("__offload_layout_of_{}", unraw(&self.signature.name))
    }

    /// Returns the name of the constant in `__offload_items` with the images' records of the
    /// arguments.
    pub fn images(&self) -> String {
        format!("__offload_images_of_{}", unraw(&self.signature.name))
    }
}

/// The contents of a program's call of the macro that change the code of a module. The code and its
/// references are on the [module's page](self).
#[derive(Debug, Clone, Copy, Default)]
pub struct Program<'a> {
    /// The kernels that the program declares. They replace those of the sources.
    pub declared: &'a [Declared],
    /// The types that replace structs.
    pub overrides: &'a [Override],
}

fn unraw(name: &str) -> &str {
    name.strip_prefix("r#").unwrap_or(name)
}

/// Returns the code of `include_kernels!` with the name of a pack alone.
pub fn of(index: &Index) -> String {
    let form = if index.is_compressed() { "Compressed" } else { "Plain" };
    let (name, modules, value) = (index.name(), index.modules(), pack(index, form, "", false));
    let mut text = unknown(name, modules);
    let _ = writeln!(
        text,
        "/// The pack `{name}`.\npub static PACK: __offload::KernelPack<__offload::{form}> = {value};"
    );
    for (number, module) in modules.iter().enumerate() {
        let is_nested = is_nested(name, modules.len(), module);
        let items = items(module, &module.signatures, Program::default(), number, is_nested, form);
        if is_nested {
            let name = &module.name;
            let _ = writeln!(
                text,
                "/// The kernels of the module `{name}`.\npub mod {} {{ {items} }}",
                identifier(name)
            );
        } else {
            text.push_str(&items);
        }
    }
    text
}

/// Whether the code of a module is in a separate Rust module. The only module of a pack, and the
/// module with the pack's name, need none.
pub fn is_nested(pack: &str, count: usize, module: &IndexModule) -> bool {
    count > 1 && module.name != pack
}

/// Returns an error, as Rust code, for a pack with a module whose kernels are unknown; otherwise an
/// empty text. Without this error, each call of a kernel would be an error without the reason.
pub fn unknown(pack: &str, modules: &[IndexModule]) -> String {
    let is_known =
        |module: &&IndexModule| module.images.iter().any(|image| image.kernels.is_some());
    let module = modules.iter().find(|module| !is_known(module));
    let why = module.and_then(|module| module.signatures_unknown.as_ref());
    let Some(why) = why else { return String::new() };
    let message = format!(
        "the parameters of the kernels in the pack \"{pack}\" are not known, so the kernels have \
         no functions: {why}\nbuild with clang; or store the parameters in the package, on a \
         machine with clang: OFFLOAD_PREBUILT=signatures cargo build; or declare the kernels: \
         include_kernels!(\"{pack}\", extern {{ fn scale(n: i32, x: *mut f32); }}); or embed the \
         pack without functions: include_offload!(\"{pack}\")"
    );
    // rustdoc reads no function bodies, so documentation needs no functions.
    format!("#[cfg(not(doc))] __offload::core::compile_error! {{ {message:?} }}\n")
}

#[cfg(test)]
mod tests;

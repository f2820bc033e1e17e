//! Generates Rust code for a pack: the pack itself, a function for each kernel, and a struct for
//! each record among the parameters. `include_kernels!` and `include_offload!` put the code into a
//! program.
//!
//! [`of`] returns text such as this (shortened):
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
//! All other items of `__offload_items` are hidden from rustdoc, because rustdoc also documents
//! private items of programs. rustdoc shows the functions that a public module imports as if the
//! module defined them.
//!
//! In the scope around the text, `__offload` is the hidden module of the crate `offload-gpu`. All
//! types are paths through this name, because a program may define its own `u8` or `core`.
//! Functions are imported from a hidden module: in the user's module, a constant with a parameter's
//! name would turn the parameter into a pattern. Records are outside the hidden module, because the
//! compiler shows their paths in messages. Except for `PACK` and `named`, all names that do not
//! come from a source begin with `__offload`. Names from sources never do.
//!
//! A pack may have thousands of kernels, and rustc compiles their functions in each build of the
//! crate. Therefore, the functions are small: they share traits, return types, and the code that
//! stores arguments.

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
pub use tables::{pack, table};

use crate::pack_index::{Index, IndexModule};
use crate::signature::{Signature, identifier};
use alloc::format;
use alloc::string::String;
use core::fmt::Write as _;

/// The function that finds a kernel by its name. No kernel's function may have this name.
pub const NAMED: &str = "named";

/// A kernel that a program declares. The [module's page](self) describes the code.
///
/// The scope around the code contains a type for each `Type::Record` in the signature, and the
/// kernel's [`layout`](Declared::layout). It also contains the modules `__offload_kernels` and
/// `__offload_parameters`, with types that stand for names in messages.
#[derive(Debug)]
pub struct Declared {
    /// The kernel with its parameters. The names are Rust identifiers, and may be raw identifiers.
    pub signature: Signature,
    /// The attributes of the function, as Rust code.
    pub attributes: String,
}

/// A type of the program that replaces a record's struct. The [module's page](self) describes the
/// code.
#[derive(Debug)]
pub struct Override {
    /// The record's name in Rust.
    pub record: String,
    /// The name of the program's type in the scope around the pack's code. `None` if the scope
    /// around the module's code contains the type under the record's name.
    pub ty: Option<String>,
}

impl Declared {
    /// Returns the name of the constant with the offsets of the arguments, a `Layout`.
    pub fn layout(&self) -> String {
        format!("__offload_layout_of_{}", unraw(&self.signature.name))
    }

    /// Returns the name of the constant in `__offload_items` with the arguments from the images.
    pub fn images(&self) -> String {
        format!("__offload_images_of_{}", unraw(&self.signature.name))
    }
}

/// The parts of a macro call that change the code of a module. The [module's page](self) describes
/// the code.
#[derive(Debug, Clone, Copy, Default)]
pub struct Program<'a> {
    /// The kernels that the program declares. They replace kernels from sources.
    pub declared: &'a [Declared],
    /// The types that replace structs.
    pub overrides: &'a [Override],
}

fn unraw(name: &str) -> &str {
    name.strip_prefix("r#").unwrap_or(name)
}

/// Returns the code of `include_kernels!` for a call with only the name of a pack.
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
/// module with the pack's name, need no separate Rust module.
pub fn is_nested(pack: &str, count: usize, module: &IndexModule) -> bool {
    count > 1 && module.name != pack
}

/// Returns a compile error as Rust code if a module's kernels are unknown; otherwise an empty text.
/// Without this error, kernel calls would also fail to compile, but the message would lack the
/// reason.
pub fn unknown(pack: &str, modules: &[IndexModule]) -> String {
    let is_known =
        |module: &&IndexModule| module.images.iter().any(|image| image.kernels.is_some());
    let module = modules.iter().find(|module| !is_known(module));
    let why = module.and_then(|module| module.signatures_unknown.as_ref());
    let Some(why) = why else { return String::new() };
    let message = format!(
        "the parameters of the kernels in the pack \"{pack}\" are not known, so the kernels have \
         no functions: {why}\n\
         Do one of the following:\n\
         - Build with clang.\n\
         - On a machine with clang, store the parameters in the package: \
         OFFLOAD_PREBUILT=signatures cargo build\n\
         - Declare the kernels: \
         include_kernels!(\"{pack}\", extern {{ fn scale(n: i32, x: *mut f32); }})\n\
         - Embed the pack without functions: include_offload!(\"{pack}\")"
    );
    // rustdoc does not check function bodies, so documentation can be built without the functions.
    format!("#[cfg(not(doc))] __offload::core::compile_error! {{ {message:?} }}\n")
}

#[cfg(test)]
mod tests;

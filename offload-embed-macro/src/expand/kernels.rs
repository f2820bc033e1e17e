//! The expansion of `include_kernels!`: the pack, and a function for each kernel with known
//! parameters.

use super::overrides::{self, Module};
use super::{declared, form, parsed};
use crate::declaration::{Declaration, Declarations};
use crate::input::Options;
use crate::overrides::Override;
use crate::suggest;
use offload_pack::expansion::{self, Program};
use offload_pack::pack_index::IndexModule;
use offload_pack::signature::identifier;
use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{Error, Result};

/// The pack whose kernels get functions.
pub(crate) struct Pack<'a> {
    pub(crate) name: &'a str,
    pub(crate) modules: &'a [IndexModule],
    pub(crate) is_compressed: bool,
    /// The expression for the `KernelPack`.
    pub(crate) value: TokenStream,
}

/// Returns the items for a pack. The program's declarations of kernels replace the known
/// signatures. `hidden` is the path of `offload-gpu`'s hidden module.
///
/// Returns an error if the pack lacks a declared kernel, or if a declared kernel has a different
/// number of parameters in the pack.
pub(crate) fn kernels(
    pack: Pack<'_>,
    options: &Options,
    declared: &Declarations,
    overrides: &[Override],
    hidden: &TokenStream,
) -> Result<TokenStream> {
    let Pack { name, modules, is_compressed, value } = pack;
    let mut names = Vec::new();
    for module in modules {
        names.push(identifier(&module.name));
    }
    if let Some((wrong, _)) =
        declared.modules.iter().find(|(wrong, _)| names.iter().all(|name| wrong != name))
    {
        let hint = match suggest::closest(&wrong.to_string(), &names) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => format!("it has {}", names.join(", ")),
        };
        return Err(Error::new(
            wrong.span(),
            format!("the pack \"{name}\" has no module `{wrong}`: {hint}"),
        ));
    }
    let are_nested = modules.iter().all(|module| expansion::is_nested(name, modules.len(), module));
    if let (Some(kernel), true) = (declared.kernels.first(), are_nested) {
        let message = format!(
            "the pack \"{name}\" has several modules. Declare the kernel in one of them: \
             mod {} {{ ... }}",
            names.join(" { ... }, mod ")
        );
        return Err(Error::new(kernel.name.span(), message));
    }
    let form = form(options, is_compressed);
    let of_index = modules;
    let mut modules = Vec::new();
    for (module, rust_name) in of_index.iter().zip(&names) {
        let is_nested = expansion::is_nested(name, of_index.len(), module);
        modules.push(Module { name: rust_name, of_index: module, is_nested });
    }
    let mut items = overrides::items(name, overrides, &modules, hidden)?;
    for (number, module) in modules.iter().enumerate() {
        let Module { name: rust_name, of_index, is_nested } = module;
        let mut kernels: Vec<&Declaration> = Vec::new();
        if !is_nested {
            kernels.extend(&declared.kernels);
        }
        for (name, of_module) in &declared.modules {
            if name == rust_name {
                kernels.extend(of_module);
            }
        }
        let (declared, of_program) = declared::of(hidden, of_index, &kernels)?;
        let of_module = overrides::of_module(overrides, module);
        let program = Program { declared: &declared, overrides: &of_module };
        let code =
            expansion::items(of_index, &of_index.signatures, program, number, *is_nested, form);
        let code = parsed(&code);
        items.extend(if *is_nested {
            // Declarations may use types from the scope around the macro.
            let outer = (!kernels.is_empty()).then(|| quote! { use super::*; });
            let doc = format!(" The kernels of the module `{}`.", of_index.name);
            let rust_name = format_ident!("{rust_name}");
            quote! { #[doc = #doc] pub mod #rust_name { #outer #of_program #code } }
        } else {
            quote! { #of_program #code }
        });
    }
    if declared.is_empty() {
        items.extend(parsed(&expansion::unknown(name, of_index)));
    }
    let (doc, form) = (format!(" The pack `{name}`."), format_ident!("{form}"));
    Ok(quote! {
        #[allow(unused_imports)]
        use #hidden as __offload;
        #[doc = #doc]
        pub static PACK: __offload::KernelPack<__offload::#form> = #value;
        #items
    })
}

//! The expansion of `include_kernels!`: the pack, and a function for each kernel whose parameters
//! are known.

use super::{declared, form, parsed};
use crate::declaration::{Declaration, Declarations};
use crate::input::Options;
use crate::suggest;
use offload_format::expansion::{self, Module};
use offload_format::pack_index::IndexModule;
use offload_format::signature::identifier;
use proc_macro2::{Group, Span, TokenStream, TokenTree};
use quote::quote;
use syn::{Error, Result};

/// The pack for which functions are declared.
pub(crate) struct Pack<'a> {
    pub(crate) name: &'a str,
    pub(crate) modules: &'a [IndexModule],
    pub(crate) is_compressed: bool,
    /// The expression for the `KernelPack`.
    pub(crate) value: TokenStream,
}

/// The name that stands for [`Pack::value`] in text.
const VALUE: &str = "__offload_value";

/// Returns the items for a pack. Kernels that the program declares replace their known signatures.
///
/// Returns an error if a declared kernel is not in the pack, or has another number of parameters
/// there.
pub(crate) fn kernels(
    pack: Pack<'_>,
    options: &Options,
    declared: &Declarations,
) -> Result<TokenStream> {
    let Pack { name, modules, is_compressed, value } = pack;
    let expansion = options.expansion();
    let names: Vec<String> = modules.iter().map(|module| identifier(&module.name)).collect();
    if let Some((wrong, _)) =
        declared.modules.iter().find(|(wrong, _)| names.iter().all(|name| wrong != name))
    {
        let hint = match suggest::closest(&wrong.to_string(), names.iter().map(String::as_str)) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => format!("it has {}", names.join(", ")),
        };
        return Err(Error::new(
            wrong.span(),
            format!("the pack \"{name}\" has no module `{wrong}`: {hint}"),
        ));
    }
    let is_alone = |module: &IndexModule| expansion::is_alone(name, modules.len(), module);
    if let (Some(kernel), false) = (declared.kernels.first(), modules.iter().any(is_alone)) {
        let message = format!(
            "the pack \"{name}\" has several modules: mod {} {{ ... }} says whose kernel it is",
            names.join(" { ... }, mod ")
        );
        return Err(Error::new(kernel.name.span(), message));
    }
    let mut holes = vec![(VALUE.to_owned(), value)];
    let mut all = Vec::new();
    for (number, (module, rust_name)) in modules.iter().zip(&names).enumerate() {
        let of_pack = is_alone(module).then_some(&declared.kernels);
        let of_module = declared.modules.iter().filter(|(name, _)| name == rust_name);
        let of_module = of_module.map(|(_, kernels)| kernels);
        let kernels: Vec<&Declaration> = of_pack.into_iter().chain(of_module).flatten().collect();
        let (declared, items) = declared::of(&expansion, module, &kernels)?;
        if !declared.is_empty() {
            holes.push((expansion::hole(number), items));
        }
        let known = Module::of(module).map_err(|error| {
            let message = format!("the index of the pack \"{name}\": {error}");
            Error::new(Span::call_site(), message)
        })?;
        all.push(Module { declared, ..known });
    }
    let text = expansion::kernels(name, &all, form(options, is_compressed), VALUE);
    let items = filled(parsed(&text), &mut holes);
    Ok(quote! {
        #[allow(unused_imports)]
        use #expansion as __offload;
        #items
    })
}

/// Replaces names that stand for other tokens. Each name is there once, outside of parentheses.
fn filled(tokens: TokenStream, holes: &mut Vec<(String, TokenStream)>) -> TokenStream {
    let replaced = tokens.into_iter().map(|token| match &token {
        TokenTree::Ident(name) => match holes.iter().position(|(hole, _)| name == hole) {
            Some(at) => holes.swap_remove(at).1,
            None => token.into(),
        },
        TokenTree::Group(group) if !holes.is_empty() => {
            let mut filled = Group::new(group.delimiter(), filled(group.stream(), holes));
            filled.set_span(group.span());
            TokenTree::from(filled).into()
        }
        _ => token.into(),
    });
    replaced.collect()
}

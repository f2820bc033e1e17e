//! Expands the macros for all their inputs: options, files, and declared kernels.

use crate::declaration::Declarations;
use crate::expand::{self, Embedded, Pack};
use crate::file;
use crate::input::{Input, Options, What};
use crate::written::Call;
use crate::{index, options, resolve};
use offload_pack::pack_index::Index;
use proc_macro2::TokenStream;
use quote::quote;
use syn::{Error, LitStr, Result};

/// Returns the expansion of `include_kernels!`.
pub(crate) fn kernels(call: &Call) -> proc_macro::TokenStream {
    expanded(syn::parse(call.tokens.clone()).and_then(|input| {
        kernels_of(&input, &input.options.expansion(call.expansion.clone().into()))
    }))
}

/// Returns the expansion of `include_offload!`.
pub(crate) fn value(call: &Call) -> proc_macro::TokenStream {
    expanded(syn::parse(call.tokens.clone()).and_then(|input| {
        value_of(&input, &input.options.expansion(call.expansion.clone().into()))
    }))
}

/// Returns the tokens, or a `compile_error!` with the error.
pub(crate) fn expanded(tokens: Result<TokenStream>) -> proc_macro::TokenStream {
    tokens.unwrap_or_else(|error| error.to_compile_error()).into()
}

fn kernels_of(
    Input { what, options, declared, overrides }: &Input,
    expansion: &TokenStream,
) -> Result<TokenStream> {
    let none = Declarations::default();
    let declared = declared.as_ref().map_or(&none, |(_, declared)| declared);
    match what {
        What::Pack(name) => {
            let (index, value) = expand_pack(name, options)?;
            let (name, modules) = (index.name(), index.modules());
            let pack = Pack { name, modules, is_compressed: index.is_compressed(), value };
            expand::kernels(pack, options, declared, overrides, expansion)
        }
        What::Path(path) => {
            if let Some(first) = overrides.first() {
                let message = "the structs of kernels in a file are not known, so `use` cannot \
                               replace them: declare the kernels with the program's own types, as \
                               in extern { fn drift(area: Area); }";
                return Err(Error::new(first.name.span(), message));
            }
            if declared.is_empty() {
                let message = "the parameters of kernels in a file are not known: declare the \
                               kernels, as in extern { fn saxpy(n: i32, a: f32, x: *const f32, y: \
                               *mut f32); }";
                return Err(Error::new(path.span(), message));
            }
            let Embedded { name, modules, value } = file::embedded(path, options)?;
            let pack = Pack { name: &name, modules: &modules, is_compressed: false, value };
            expand::kernels(pack, options, declared, &[], expansion)
        }
    }
}

fn expand_pack(name: &LitStr, options: &Options) -> Result<(Index, TokenStream)> {
    let at_name = |error| Error::new(name.span(), error);
    let (index, folder) = index::read(&name.value()).map_err(at_name)?;
    options::check_for_pack(options, &index)?;
    let from_disk = resolve::from_disk().map_err(at_name)?.then_some(folder);
    let value = expand::parsed(&expand::pack(&index, options, from_disk.as_deref()));
    Ok((index, value))
}

fn value_of(
    Input { what, options, declared, overrides }: &Input,
    expansion: &TokenStream,
) -> Result<TokenStream> {
    if let Some((span, _)) = declared {
        let message = "include_offload! accepts no declarations of kernels: use \
                       include_kernels!(\"saxpy\", extern { ... }), which makes a function for \
                       each kernel";
        return Err(Error::new(*span, message));
    }
    if let Some(first) = overrides.first() {
        let message = "include_offload! generates no structs, so `use` cannot replace one: write \
                       include_kernels!(\"saxpy\", use Area) instead";
        return Err(Error::new(first.name.span(), message));
    }
    let value = match what {
        What::Pack(name) => expand_pack(name, options)?.1,
        What::Path(path) => file::embedded(path, options)?.value,
    };
    Ok(quote! {{
        #[allow(unused_imports)]
        use #expansion as __offload;
        #value
    }})
}
